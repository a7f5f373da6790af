#include "cupel/core/nearest_names.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cupel/core/ascii.h"

namespace cupel {
namespace {

// The length up to which texts are compared: comparing costs the product of the lengths.
constexpr std::size_t kLongestText = 256;

// The number of insertions, deletions, replacements and swaps that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_previous(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view text,
                                       std::span<const std::string> candidates) {
  constexpr std::size_t kMostNames = 3;
  const std::string wanted = folded_name(text.substr(0, kLongestText));
  if (wanted.empty()) return {};
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const std::string name = folded_name(candidate);
    std::size_t distance = edit_distance(wanted, name);
    const bool part = wanted.size() >= 3 && name.find(wanted) != std::string::npos;
    if (part) distance = std::min<std::size_t>(distance, 2);
    if (part || distance <= std::max<std::size_t>(1, std::max(wanted.size(), name.size()) / 3))
      near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [distance, name] : near)
    if (names.size() < kMostNames) names.push_back(std::move(name));
  return names;
}

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> candidates) {
  const std::string wanted = folded_name(text.substr(0, kLongestText));
  return *std::ranges::min_element(candidates, {}, [&](std::string_view candidate) {
    return edit_distance(wanted, folded_name(candidate));
  });
}

std::string did_you_mean(std::string_view text, std::span<const std::string> candidates) {
  const std::vector<std::string> names = nearest_names(text, candidates);
  if (names.empty()) return {};
  std::string question = "; did you mean " + names.front();
  for (std::size_t i = 1; i < names.size(); ++i)
    question += (i + 1 == names.size() ? " or " : ", ") + names[i];
  return question + "?";
}

}  // namespace cupel
