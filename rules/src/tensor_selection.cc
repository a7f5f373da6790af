#include "tensor_selection.h"

#include <utility>

namespace cupel::rules_detail {

Parameter collection_names() {
  return {.name = "collection_names", .help = "collections to look at; with tensor_regex: both"};
}

Parameter tensor_regex() {
  return {.name = "tensor_regex", .help = "patterns searched in the names of tensors"};
}

NeededTensors selected_tensors(const std::vector<std::string>& collections,
                               const PatternList& patterns, bool all_if_none) {
  return {.collections = collections,
          .patterns = patterns,
          .all_if_none = all_if_none,
          .parameters = {"collection_names", "tensor_regex"}};
}

NeededTensors needed_tensors(const PreferredNames& names, std::string parameter,
                             std::string saved_as) {
  return {.patterns = names.patterns,
          .fallbacks = names.fallbacks,
          .parameters = {std::move(parameter)},
          .saved_as = std::move(saved_as)};
}

void require_selection(const ParameterValues& values, ParameterMistakes& mistakes,
                       std::string text) {
  const auto collections = values.get<std::vector<std::string>>("collection_names");
  const bool has_collections = collections && !collections->empty();
  if (!has_collections && !values.is_given("tensor_regex"))
    mistakes.add_missing(std::move(text), "collection_names");
}

}  // namespace cupel::rules_detail
