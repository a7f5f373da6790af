#pragma once

#include <cstddef>
#include <cstdint>

#include "cupel/core/dtype.h"

namespace cupel::stats_detail {

/// Sums and extremes of elements of 8 bits. All of them are whole numbers, which do not depend on
/// the order of additions.
struct ByteSums {
  std::int64_t values = 0;
  std::int64_t magnitudes = 0;
  std::int64_t squares = 0;
  int min = 0;
  int max = 0;
  int abs_min = 0;
};

/// Whether sum_bytes() takes elements of a dtype.
inline bool is_of_bytes(DType dtype) noexcept {
  return dtype == DType::I8 || dtype == DType::U8 || dtype == DType::Bool;
}

/// The sums of a block of StatisticsAccumulator::kBlockElements elements at any address. Any byte
/// but 0 of a bool is 1.
ByteSums sum_bytes(DType dtype, const std::byte* data) noexcept;

}  // namespace cupel::stats_detail
