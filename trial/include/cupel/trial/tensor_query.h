#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"

namespace cupel {

/// Selects names of tensors (Trial::tensor_names). A field that is left out selects everything;
/// `regex` and `collection` exclude each other.
struct TensorQuery {
  /// A step of `mode`: selects the tensors that were saved there.
  std::optional<std::int64_t> step = std::nullopt;
  /// Selects the tensors that were saved in this mode; Global: in any mode, and `step` is a global
  /// step.
  Mode mode = Mode::Global;
  /// Selects the names in which one of these patterns is found anywhere.
  PatternList regex = {};
  /// Selects the names that the collection lists and those that its patterns match.
  std::string collection = {};
};

}  // namespace cupel
