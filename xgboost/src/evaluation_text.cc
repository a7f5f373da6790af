#include "evaluation_text.h"

#include <optional>

#include "cupel/core/number_text.h"

namespace cupel::xgboost_detail {
namespace {

constexpr std::string_view kAround = " \t\r\n";

std::string_view without_end(std::string_view text) noexcept {
  return text.substr(0, text.find_last_not_of(kAround) + 1);
}

std::string_view without_iteration(std::string_view text) noexcept {
  if (!text.starts_with('[')) return text;
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return text;
  text.remove_prefix(end + 1);
  return text.substr(text.starts_with('\t') ? 1 : 0);
}

std::optional<Metric> read_metric(std::string_view part) {
  const std::size_t colon = part.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto value = parse_number(without_blanks_and_plus(part.substr(colon + 1)));
  if (!value) return std::nullopt;
  return Metric{std::string(part.substr(0, colon)), *value};
}

}  // namespace

Evaluation read_evaluation(std::string_view text) {
  Evaluation result;
  std::string_view rest = without_iteration(without_end(text));
  // A part ends at a tab, unless the tab belongs to the name: then no value stands before it.
  for (std::size_t tab = 0; !rest.empty() && tab != std::string_view::npos;) {
    tab = rest.find('\t', tab);
    if (auto metric = read_metric(rest.substr(0, tab))) {
      result.metrics.push_back(std::move(*metric));
      rest.remove_prefix(tab == std::string_view::npos ? rest.size() : tab + 1);
      tab = tab == std::string_view::npos ? tab : 0;
    } else if (tab != std::string_view::npos) {
      ++tab;
    }
  }
  result.unreadable = rest;
  return result;
}

}  // namespace cupel::xgboost_detail
