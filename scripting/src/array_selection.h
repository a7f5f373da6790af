#pragma once

#include <cstdint>
#include <utility>

#include "array.h"

namespace cupel::scripting_detail {

/// The elements, or magnitudes, that would be at the indices `rank` and `rank` + 1 if a numeric
/// array without NaNs were sorted; the second is NaN behind the last.
std::pair<double, double> elements_of_rank(Budget& budget, const Array& array, bool magnitudes,
                                           std::int64_t rank);

}  // namespace cupel::scripting_detail
