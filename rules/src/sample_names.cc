// Examples of what a pattern finds, made from its text: of each group one alternative after the
// other, of each class its first character, of repetitions the fewest, of anchors and look-arounds
// nothing. Whether the pattern finds an example is asked of the pattern itself, so that a wrong
// guess is only left out. A pattern of which nothing is left holds no name that is known of.

#include "sample_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

namespace cupel::rules_detail {
namespace {

constexpr std::size_t kMostSamples = 32;
constexpr int kMostNested = 16;
constexpr int kMostTimes = 8;

using Texts = std::vector<std::string>;

class SampleMaker {
 public:
  explicit SampleMaker(std::string_view pattern) : pattern_(pattern) {}

  Texts make() { return alternatives(); }

 private:
  bool at_end() const { return at_ >= pattern_.size(); }
  char peek() const { return at_end() ? '\0' : pattern_[at_]; }

  Texts alternatives() {
    Texts all = sequence();
    while (peek() == '|') {
      ++at_;
      for (std::string& text : sequence())
        if (all.size() < kMostSamples) all.push_back(std::move(text));
    }
    return all;
  }

  Texts sequence() {
    Texts texts = {""};
    while (!at_end() && peek() != '|' && peek() != ')') {
      const Texts piece = repeated(atom());
      Texts longer;
      for (const std::string& text : texts)
        for (const std::string& more : piece)
          if (longer.size() < kMostSamples) longer.push_back(text + more);
      texts = std::move(longer);
    }
    return texts;
  }

  Texts atom() {
    const char c = pattern_[at_++];
    switch (c) {
      case '^':
      case '$':
        return {""};
      case '.':
        return {"x"};
      case '[':
        return {one_of_class()};
      case '(':
        return group();
      case '\\':
        return {escaped()};
      default:
        return {std::string(1, c)};
    }
  }

  std::string escaped() {
    if (at_end()) return "";
    const char c = pattern_[at_++];
    switch (c) {
      case 'd':
        return "0";
      case 'w':
      case 'D':
      case 'S':
        return "x";
      case 's':
        return " ";
      case 'W':
        return ".";
      case 'b':
      case 'A':
      case 'Z':
      case 'z':
        return "";
      default:
        return std::string(1, c);
    }
  }

  std::string one_of_class() {
    const bool negated = peek() == '^';
    if (negated) ++at_;
    std::string first;
    for (bool any = false; !at_end() && (peek() != ']' || !any); any = true) {
      std::string one = peek() == '\\' ? (++at_, escaped()) : std::string(1, pattern_[at_++]);
      if (!any) first = std::move(one);
    }
    if (!at_end()) ++at_;
    return negated ? "x" : first;
  }

  Texts group() {
    bool counts = true;
    if (peek() == '?') {
      ++at_;
      // (?= (?! (?<= (?<! look around; (?: and (?<name> do not; (?i) is a switch, not a group.
      const std::string_view rest = pattern_.substr(at_);
      const std::size_t letters = rest.find_first_not_of("imsxnJU-^");
      if (letters != std::string_view::npos && rest[letters] == ')') {
        at_ += letters + 1;
        return {""};
      }
      counts = !(rest.starts_with('=') || rest.starts_with('!') || rest.starts_with("<=") ||
                 rest.starts_with("<!"));
      const std::size_t begin = rest.find_first_of(":>=!");
      at_ += begin == std::string_view::npos ? rest.size() : begin + 1;
    }
    if (++depth_ > kMostNested) at_ = pattern_.size();
    Texts texts = alternatives();
    --depth_;
    if (peek() == ')') ++at_;
    return counts ? texts : Texts{""};
  }

  // As often as it must be there.
  Texts repeated(Texts atom) {
    bool none = false;
    int times = 1;
    while (!at_end()) {
      const char c = peek();
      if (c == '*' || c == '?') {
        none = true;
      } else if (c == '{') {
        const std::size_t end = pattern_.find('}', at_);
        if (end == std::string_view::npos) break;
        times = std::min(std::atoi(std::string(pattern_.substr(at_ + 1, 4)).c_str()), kMostTimes);
        none = none || times == 0;
        at_ = end;
      } else if (c != '+') {
        break;
      }
      ++at_;
    }
    if (none) return {""};
    for (std::string& text : atom) {
      const std::string once = text;
      for (int i = 1; i < times; ++i) text += once;
    }
    return atom;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// What may stand around the text that a pattern finds.
constexpr std::array<std::string_view, 3> kBefore = {"", "m/", "m."};
constexpr std::array<std::string_view, 3> kBehind = {"", "_0", "/0"};

template <class Is>
bool any_of_samples(const Pattern& pattern, Is&& is) {
  for (const std::string& sample : sample_names(pattern))
    for (const std::string_view before : kBefore)
      for (const std::string_view behind : kBehind) {
        const std::string name = std::string(before).append(sample).append(behind);
        if (pattern.search(name) && is(name)) return true;
      }
  return false;
}

}  // namespace

std::vector<std::string> sample_names(const Pattern& pattern) {
  Texts texts = SampleMaker(pattern.text()).make();
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  texts.erase(std::remove_if(
                  texts.begin(), texts.end(),
                  [&](const std::string& text) { return text.empty() && !pattern.search(text); }),
              texts.end());
  return texts;
}

bool may_hold(const Collection& collection, const Pattern& pattern) {
  const auto& names = collection.tensor_names();
  if (std::any_of(names.begin(), names.end(),
                  [&](const std::string& name) { return pattern.search(name); }))
    return true;
  if (any_of_samples(pattern, [&](const std::string& name) { return collection.contains(name); }))
    return true;
  for (const Pattern& of_collection : collection.include_regex().patterns())
    if (of_collection.text() == pattern.text() ||
        any_of_samples(of_collection,
                       [&](const std::string& name) { return pattern.search(name); }))
      return true;
  return false;
}

bool may_share(const Collection& a, const Collection& b) {
  const auto& names = a.tensor_names();
  if (std::any_of(names.begin(), names.end(),
                  [&](const std::string& name) { return b.contains(name); }))
    return true;
  const auto patterns = a.include_regex().patterns();
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const Pattern& pattern) { return may_hold(b, pattern); });
}

}  // namespace cupel::rules_detail
