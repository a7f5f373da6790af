#pragma once

#include <cstddef>

#include "cupel/core/dtype.h"

namespace cupel::stats_detail {

/// Whether floats hold all values of a numeric dtype. Doubles hold those of the others, but for
/// integers of 64 bits, which are rounded.
inline bool fits_float(DType dtype) noexcept {
  return dtype == DType::F32 || (element_size(dtype) <= 2 && dtype != DType::Utf8);
}

/// Converts `count` elements of a dtype that fits_float(), but is not F32. `from` has any
/// alignment. Any byte but 0 of a bool is 1.
void widen(DType dtype, const std::byte* from, std::size_t count, float* to) noexcept;

/// Converts `count` integers of 32 or 64 bits. `from` has any alignment.
void widen(DType dtype, const std::byte* from, std::size_t count, double* to) noexcept;

}  // namespace cupel::stats_detail
