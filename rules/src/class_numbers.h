#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cupel/trial/tensor_value.h"

namespace cupel::rules_detail {

/// Stands where a label or prediction names no class: it is NaN, infinite or not exact as a whole
/// number, or beside such a one in its row.
inline constexpr std::int64_t kNoClass = std::numeric_limits<std::int64_t>::min();

/// Appends the class that each element names: whole numbers are classes, of others those from 0.5
/// on are class 1 and those below class 0. Numeric dtypes only.
void append_classes(const TensorValue& value, std::vector<std::int64_t>& into);

/// Appends for each row, along the last axis, where its largest element is; the first of equal
/// ones. Numeric dtypes only; the value has rows.
void append_largest(const TensorValue& value, std::vector<std::int64_t>& into);

/// Whether the last axis can distinguish classes: there are several elements along it.
bool has_rows(const TensorValue& value) noexcept;

}  // namespace cupel::rules_detail
