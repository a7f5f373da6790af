#pragma once

#include <string>
#include <vector>

#include "cupel/core/pattern.h"
#include "cupel/rules/parameters.h"

namespace cupel {

/// Which tensors a rule looks at: those of some collections and those whose names match some
/// patterns, together; all of a step when neither is given.
struct TensorSelection {
  std::vector<std::string> collections;
  PatternList patterns;

  /// Takes them from the parameters collection_names and tensor_regex.
  static TensorSelection read(ParameterReader& reader);

  /// "the collections gradients, weights and names matching \"relu\"".
  std::string description() const;
};

}  // namespace cupel
