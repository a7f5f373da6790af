#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cupel/core/reduction.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/trial/name_selection.h"

namespace cupel {

/// A reduction of a tensor as a rule got hold of it, and whence.
struct TensorNumber {
  enum class Origin : std::uint8_t { Saved, PerElement, TimesElements, Square, Root, Value };
  double value = 0;
  Reduction from;  ///< What was read.
  Origin origin = Origin::Saved;

  /// "abs_mean (saved)", "l1 / elements (saved)", "abs_mean (from raw)".
  /// A text of its own for each, which lasts and ends with a NUL.
  std::string_view origin_text() const;
};

/// The saved reduction, else the same derived from another one that was saved. Reads no value.
std::optional<TensorNumber> saved_number(const RecordView& record, Reduction wanted) noexcept;
std::optional<TensorNumber> saved_number(const TensorRecord& record, Reduction wanted) noexcept;

/// All that saved_number() takes, and then the raw value.
std::vector<TensorSource> sources_of(Reduction wanted);

}  // namespace cupel
