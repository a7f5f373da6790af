#include "tensor_selection.h"

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
