#pragma once

#include <cstdint>
#include <functional>

#include "array.h"
#include "cupel/core/reduction.h"

// What reductions of the elements along one axis yield: arrays of the shape without it.

namespace cupel::scripting_detail {

/// A reduction of each row of elements: f64.
Array reduce_axis(Budget& budget, const Array& array, std::size_t axis, Reduction reduction);

/// The results of a function for each row, as an array of one axis: f64.
Array map_axis(Budget& budget, const Array& array, std::size_t axis,
               const std::function<double(const Array& row)>& function);

enum class Counting : std::uint8_t { Any, All, Nonzero };
/// Whether any, or all, of the elements of each row are not 0, or how many.
Array count_axis(Budget& budget, const Array& array, std::size_t axis, Counting counting);

/// The index in its row of the first of the largest or least elements, or of the first NaN, counted
/// from `base`: i64. The axis is not empty.
Array index_of_extreme_axis(Budget& budget, const Array& array, std::size_t axis, bool largest,
                            std::int64_t base);

}  // namespace cupel::scripting_detail
