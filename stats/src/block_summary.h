#pragma once

#include <cstddef>
#include <cstdint>

#include "cupel/stats/statistics.h"
#include "lanes.h"

namespace cupel::stats_detail {

/// A mean and the sum of squared distances from it. The mean is the sum of two numbers, so that the
/// distance between two close means is not lost in their roundings.
struct BlockMoments {
  double mean = 0;
  double mean_rest = 0;
  double distances = 0;
};

/// The contribution of one block of elements to Statistics.
///
/// Doubles whose squares would overflow or vanish are summed in another unit: `sum` and
/// `magnitudes` times 2^kUnitExponent or 2^-kUnitExponent, `squares` times its square.
struct BlockSummary {
  enum Unit : std::uint8_t { Small, Plain, Large };
  static constexpr int kUnitExponent = 600;

  std::int64_t elements = 0;
  ValueCounts counts;
  // Of a block with NaNs, all that follows means nothing; of one with infinities, only the extremes
  // do.
  Range<double> range;
  Unit unit = Plain;
  double sum = 0;
  double magnitudes = 0;
  double squares = 0;
  BlockMoments moments = {};      // of the elements, in the plain unit
  BlockMoments abs_moments = {};  // of their magnitudes

  bool finite() const noexcept { return counts.nan + counts.pos_inf + counts.neg_inf == 0; }
};

/// `count` is at least 1 and at most StatisticsAccumulator::kBlockElements.
BlockSummary summarise_block(const float* data, std::size_t count) noexcept;
BlockSummary summarise_block(const double* data, std::size_t count) noexcept;

/// A block of StatisticsAccumulator::kBlockElements elements of F16 or BF16 at any address, without
/// converting it first.
BlockSummary summarise_half_block(DType dtype, const std::byte* data) noexcept;

/// The same of elements that is_of_bytes(). Their zeros are not counted, as nothing reports those
/// of integers.
BlockSummary summarise_byte_block(DType dtype, const std::byte* data) noexcept;

}  // namespace cupel::stats_detail
