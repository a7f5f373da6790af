#pragma once

// Sixteen virtual lanes: element i of a block belongs to lane i % 16 on every machine, however many
// elements its vectors hold, and lanes are added along one fixed tree. So sums come out the same to
// the bit. "Rows" are runs of sixteen elements; the elements behind the last row are added to
// their lanes one by one.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cupel::stats_detail {

inline constexpr std::size_t kLanes = 16;

using Lanes = std::array<double, kLanes>;

inline double tree_sum(const Lanes& lanes) noexcept {
  std::array<double, kLanes / 2> sum;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = lanes[i] + lanes[i + sum.size()];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/// Sums of the elements, of their magnitudes and of their squares.
struct alignas(64) LaneSums {
  Lanes values, magnitudes, squares;
};

/// Sums of distances from a mean and of their squares, for the elements and for their magnitudes.
/// Had the mean not been rounded, the distances would cancel.
struct alignas(64) LaneDistances {
  Lanes values, squares, abs_values, abs_squares;
};

/// A product in the form mantissa * 2^exponent. A mantissa is 0, infinite, NaN, or of magnitude in
/// [1, 2) when a function returns.
struct LaneProducts {
  Lanes mantissas;
  std::array<std::int64_t, kLanes> exponents;
};

/// The extremes of elements without NaN; of none: infinities that lose every comparison.
template <class T>
struct Range {
  T min = std::numeric_limits<T>::infinity();
  T max = -std::numeric_limits<T>::infinity();
  T abs_min = std::numeric_limits<T>::infinity();

  T abs_max() const noexcept { return -min > max ? -min : max; }
  void widen(T x) noexcept {
    const T magnitude = std::abs(x);
    min = x < min ? x : min;
    max = x > max ? x : max;
    abs_min = magnitude < abs_min ? magnitude : abs_min;
  }
};

}  // namespace cupel::stats_detail
