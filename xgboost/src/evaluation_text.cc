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

// The metric that `part` is, whose value begins behind a colon in the text from `begin` on.
std::optional<Metric> read_metric(std::string_view part, std::size_t begin) {
  const std::size_t in_end = part.substr(begin).rfind(':');
  const std::size_t colon = begin + in_end;
  if (in_end == std::string_view::npos || colon == 0) return std::nullopt;
  const auto value = parse_number(without_blanks_and_plus(part.substr(colon + 1)));
  if (!value) return std::nullopt;
  return Metric{std::string(part.substr(0, colon)), *value};
}

}  // namespace

Evaluation read_evaluation(std::string_view text) {
  Evaluation result;
  std::string_view rest = without_iteration(without_end(text));
  // A part ends at a tab, unless the tab belongs to the name: then no value stands before it. The
  // text between two tabs is searched once, so that a text of tabs takes no longer than another.
  std::size_t begin = 0;  // in `rest`, of the text behind the last tab
  while (!rest.empty()) {
    const std::size_t tab = rest.find('\t', begin);
    if (auto metric = read_metric(rest.substr(0, tab), begin)) {
      result.metrics.push_back(std::move(*metric));
      rest.remove_prefix(tab == std::string_view::npos ? rest.size() : tab + 1);
      begin = 0;
    } else if (tab != std::string_view::npos) {
      begin = tab + 1;
    } else {
      break;
    }
  }
  result.unreadable = rest;
  return result;
}

}  // namespace cupel::xgboost_detail
