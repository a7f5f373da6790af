#include "tensor_selection.h"

#include <algorithm>

#include "cupel/core/error.h"

namespace cupel {

TensorSelection TensorSelection::read(ParameterReader& reader) {
  TensorSelection selection;
  selection.collections = reader.list("collection_names");
  for (const std::string& pattern : reader.list("tensor_regex")) {
    try {
      selection.patterns.add(pattern);
    } catch (const UsageError& error) {
      reader.fail(std::string("parameter tensor_regex: ") + error.what());
    }
  }
  return selection;
}

std::vector<std::string> TensorSelection::names(const Trial& trial, std::int64_t step) const {
  if (collections.empty() && patterns.empty()) return trial.tensor_names({.step = step});
  std::vector<std::string> names;
  const auto add = [&names](std::vector<std::string> more) {
    names.insert(names.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  };
  for (const std::string& collection : collections)
    add(trial.tensor_names({.step = step, .collection = collection}));
  if (!patterns.empty()) add(trial.tensor_names({.step = step, .regex = patterns}));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string TensorSelection::description() const {
  std::string text;
  if (!collections.empty()) {
    text += collections.size() == 1 ? "the collection " : "the collections ";
    for (std::size_t i = 0; i < collections.size(); ++i)
      text += (i == 0 ? "" : ", ") + collections[i];
  }
  for (const std::string& pattern : patterns.texts())
    text += (text.empty() ? "names matching \"" : ", names matching \"") + pattern + "\"";
  return text.empty() ? "all tensors" : text;
}

}  // namespace cupel
