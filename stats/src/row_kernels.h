#pragma once

#include <cstddef>
#include <cstdint>

#include "cupel/stats/statistics.h"
#include "lanes.h"

namespace cupel::stats_detail {

/// The vector kernels, for the best instruction set of the machine. `data` is aligned to its type
/// and holds `rows` * kLanes elements; sums and distances see the elements times `scale`, a power
/// of two.

/// Sums and extremes in one pass. With non-finite elements the sums are non-finite too, and the
/// extremes mean nothing (Highway's emulated target takes no infinity for the greatest of all
/// lanes).
void sum_rows(const float* data, std::size_t rows, double scale, LaneSums& sums,
              Range<float>& range) noexcept;
void sum_rows(const double* data, std::size_t rows, double scale, LaneSums& sums,
              Range<double>& range) noexcept;

/// Distances from `mean`, and those of the magnitudes from `abs_mean`.
void sum_row_distances(const float* data, std::size_t rows, double scale, double mean,
                       double abs_mean, LaneDistances& sums) noexcept;
void sum_row_distances(const double* data, std::size_t rows, double scale, double mean,
                       double abs_mean, LaneDistances& sums) noexcept;

/// How many elements are zero, of either sign.
std::int64_t count_row_zeros(const float* data, std::size_t rows) noexcept;
std::int64_t count_row_zeros(const double* data, std::size_t rows) noexcept;

/// NaNs and infinities; `zero` stays 0.
ValueCounts count_row_specials(const float* data, std::size_t rows) noexcept;
ValueCounts count_row_specials(const double* data, std::size_t rows) noexcept;

/// Multiplies the rows onto `products`, whose mantissas are normalised.
void multiply_rows(const float* data, std::size_t rows, LaneProducts& products) noexcept;
void multiply_rows(const double* data, std::size_t rows, LaneProducts& products) noexcept;

}  // namespace cupel::stats_detail
