#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cupel/core/reduction.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/trial/name_selection.h"

namespace cupel {

/// A reduction of a tensor, and how a rule obtained it.
struct TensorNumber {
  enum class Origin : std::uint8_t { Saved, PerElement, TimesElements, Square, Root, Value };
  double value = 0;               ///< The reduction.
  Reduction from;                 ///< The reduction that was read.
  Origin origin = Origin::Saved;  ///< How the value follows from it.

  /// Returns "abs_mean (saved)", "l1 / elements (saved)", "abs_mean (from raw)": a text that lasts
  /// as long as the program, and that a NUL follows.
  std::string_view origin_text() const;
};

/// Returns the saved reduction, else the same number derived from another saved reduction. Reads no
/// value.
std::optional<TensorNumber> saved_number(const RecordView& record, Reduction wanted) noexcept;
std::optional<TensorNumber> saved_number(const TensorRecord& record, Reduction wanted) noexcept;

/// Returns the sources that saved_number() uses, in its order, and then the raw value.
std::vector<TensorSource> sources_of(Reduction wanted);

}  // namespace cupel
