#pragma once

#include <cstddef>
#include <cstdint>

#include "cupel/core/dtype.h"
#include "lanes.h"

namespace cupel::stats_detail {

/// As sum_rows() does with floats, of an even number of rows of F16 or BF16 at any address.
void sum_half_rows(DType dtype, const std::byte* data, std::size_t rows, LaneSums& sums,
                   Range<float>& range) noexcept;

/// How many elements of either type are zero, of either sign.
std::int64_t count_half_row_zeros(const std::byte* data, std::size_t rows) noexcept;

}  // namespace cupel::stats_detail
