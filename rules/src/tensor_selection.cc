#include "tensor_selection.h"

#include "cupel/core/error.h"

namespace cupel {

NeededTensors unread_selection(bool all_if_none) {
  return {.all_if_none = all_if_none, .parameters = {"collection_names", "tensor_regex"}};
}

NeededTensors read_selection(ParameterReader& reader) {
  NeededTensors selection = unread_selection(true);
  selection.collections = reader.list(kCollectionNames.name);
  for (const std::string& pattern : reader.list(kTensorRegex.name)) {
    try {
      selection.patterns.add(pattern);
    } catch (const UsageError& error) {
      reader.fail(std::string("parameter tensor_regex: ") + error.what());
    }
  }
  return selection;
}

NeededTensors read_required_selection(ParameterReader& reader) {
  const std::size_t mistakes = reader.mistakes();
  NeededTensors selection = read_selection(reader);
  selection.all_if_none = false;
  if (selection.collections.empty() && selection.patterns.texts().empty() &&
      reader.mistakes() == mistakes)
    reader.fail("which tensors to look at is not given; collection_names or tensor_regex says it");
  return selection;
}

}  // namespace cupel
