#pragma once

// The loops over rows in plain C++: the meaning of the vector kernels, which must agree to the bit.
// They are used where there are no vectors, and for the elements behind the last row.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "lanes.h"

namespace cupel::stats_detail {

inline void add_element(LaneSums& sums, std::size_t lane, double x) noexcept {
  sums.values[lane] += x;
  sums.magnitudes[lane] += std::abs(x);
  sums.squares[lane] += x * x;
}

inline void add_element(LaneDistances& sums, std::size_t lane, double x, double mean,
                        double abs_mean) noexcept {
  const double distance = x - mean;
  const double abs_distance = std::abs(x) - abs_mean;
  sums.values[lane] += distance;
  sums.squares[lane] += distance * distance;
  sums.abs_values[lane] += abs_distance;
  sums.abs_squares[lane] += abs_distance * abs_distance;
}

/// Brings a mantissa back to [1, 2), and its exponent along; 0, infinity and NaN stay.
inline void normalise(double& mantissa, std::int64_t& exponent) noexcept {
  constexpr std::uint64_t kExponentBits = 0x7ffULL << 52U;
  const auto bits = std::bit_cast<std::uint64_t>(mantissa);
  const std::uint64_t biased = (bits & kExponentBits) >> 52U;
  if (biased == 0 || biased == 0x7ff) return;
  mantissa = std::bit_cast<double>((bits & ~kExponentBits) | 1023ULL << 52U);
  exponent += static_cast<std::int64_t>(biased) - 1023;
}

inline void multiply_element(LaneProducts& products, std::size_t lane, double x) noexcept {
  std::int64_t exponent = 0;
  if (std::abs(x) < 0x1p-1022) {  // subnormal, or 0
    x *= 0x1p64;
    exponent = -64;
  }
  normalise(x, exponent);
  products.mantissas[lane] *= x;
  products.exponents[lane] += exponent;
  normalise(products.mantissas[lane], products.exponents[lane]);
}

template <class T>
void sum_rows_plainly(const T* data, std::size_t rows, double scale, LaneSums& sums) noexcept {
  sums = {};
  for (std::size_t row = 0; row < rows; ++row, data += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i)
      add_element(sums, i, static_cast<double>(data[i]) * scale);
}

template <class T>
void sum_row_distances_plainly(const T* data, std::size_t rows, double scale, double mean,
                               double abs_mean, LaneDistances& sums) noexcept {
  sums = {};
  for (std::size_t row = 0; row < rows; ++row, data += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i)
      add_element(sums, i, static_cast<double>(data[i]) * scale, mean, abs_mean);
}

template <class T>
void multiply_rows_plainly(const T* data, std::size_t rows, LaneProducts& products) noexcept {
  for (std::size_t row = 0; row < rows; ++row, data += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i)
      multiply_element(products, i, static_cast<double>(data[i]));
}

}  // namespace cupel::stats_detail
