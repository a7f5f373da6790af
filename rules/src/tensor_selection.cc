#include "tensor_selection.h"

#include "cupel/core/error.h"

namespace cupel {

namespace {

PatternList compiled(ParameterReader& reader, std::string_view name) {
  PatternList patterns;
  for (const std::string& pattern : reader.list(name)) {
    try {
      patterns.add(pattern);
    } catch (const UsageError& error) {
      reader.fail("parameter " + std::string(name) + ": " + error.what());
    }
  }
  return patterns;
}

}  // namespace

PatternList read_patterns(ParameterReader& reader, std::string_view name) {
  const std::size_t mistakes = reader.mistakes();
  PatternList patterns = compiled(reader, name);
  if (patterns.empty() && reader.mistakes() == mistakes)
    reader.fail("parameter " + std::string(name) + " holds no pattern");
  return patterns;
}

NeededTensors unread_selection(bool all_if_none) {
  return {.all_if_none = all_if_none, .parameters = {"collection_names", "tensor_regex"}};
}

NeededTensors read_selection(ParameterReader& reader) {
  NeededTensors selection = unread_selection(true);
  selection.collections = reader.list(kCollectionNames.name);
  selection.patterns = compiled(reader, kTensorRegex.name);
  return selection;
}

NeededTensors read_required_selection(ParameterReader& reader) {
  const std::size_t mistakes = reader.mistakes();
  NeededTensors selection = read_selection(reader);
  selection.all_if_none = false;
  if (selection.collections.empty() && selection.patterns.texts().empty() &&
      reader.mistakes() == mistakes)
    reader.lacks("which tensors to look at is not given; collection_names or tensor_regex says it");
  return selection;
}

}  // namespace cupel
