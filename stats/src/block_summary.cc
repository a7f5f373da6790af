// Statistics of one block of elements, which lies in the first-level cache.
//
// The first sweep yields the sums of x, |x| and x^2. The squared distances from the mean are
// sum(x^2) - sum(x)^2 / n. When that difference loses more than ten bits of the sum of squares, a
// second sweep adds up the distances themselves. Either way the distances are exact to twelve
// digits. Doubles whose squares overflow or vanish are summed once more in another unit. Integers
// of 8 bits are summed as integers. Any thread runs this; nothing allocates or fails.

#include "block_summary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "byte_kernels.h"
#include "half_kernels.h"
#include "plain_rows.h"
#include "row_kernels.h"
#include "widen_kernels.h"

namespace cupel::stats_detail {
namespace {

constexpr double kTooMuchCancelled = 0x1p-10;

/// From the sums of x and of x^2.
BlockMoments quick_moments(double sum, double squares, double count) noexcept {
  const double mean = sum / count;
  return {mean, 0, squares - sum * mean};
}

/// From the sums of distances from the rounded mean, and of their squares.
BlockMoments careful_moments(double mean, const Lanes& distances, const Lanes& squares,
                             double count) noexcept {
  const double sum = tree_sum(distances);
  return {mean, sum / count, std::max(tree_sum(squares) - sum * sum / count, 0.0)};
}

template <class T>
bool is_zero(T x) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(x) << 1U == 0;  // also where the program flushes subnormals to zero
}

template <class T>
std::int64_t count_zeros(const T* data, std::size_t count) noexcept {
  const std::size_t rows = count / kLanes;
  return count_row_zeros(data, rows) +
         std::count_if(data + rows * kLanes, data + count, is_zero<T>);
}

template <class T>
ValueCounts count_specials(const T* data, std::size_t count) noexcept {
  const std::size_t rows = count / kLanes;
  ValueCounts counts = count_row_specials(data, rows);
  for (std::size_t i = rows * kLanes; i < count; ++i) {
    counts.nan += static_cast<int>(std::isnan(data[i]));
    counts.pos_inf += static_cast<int>(data[i] == std::numeric_limits<T>::infinity());
    counts.neg_inf += static_cast<int>(data[i] == -std::numeric_limits<T>::infinity());
  }
  return counts;
}

/// The extremes of elements that may be infinite, but not NaN.
template <class T>
Range<double> range_of(const T* data, std::size_t count) noexcept {
  Range<double> range;
  for (std::size_t i = 0; i < count; ++i) range.widen(static_cast<double>(data[i]));
  return range;
}

template <class T>
Range<double> in_double(const Range<T>& range) noexcept {
  return {static_cast<double>(range.min), static_cast<double>(range.max),
          static_cast<double>(range.abs_min)};
}

/// Sums of a block, and its extremes if it is finite.
template <class T>
Range<double> sum_block(const T* data, std::size_t count, double scale, LaneSums& sums) noexcept {
  const std::size_t rows = count / kLanes;
  Range<T> range;
  sum_rows(data, rows, scale, sums, range);
  for (std::size_t i = rows * kLanes; i < count; ++i) {
    add_element(sums, i % kLanes, static_cast<double>(data[i]) * scale);
    range.widen(data[i]);
  }
  return in_double(range);
}

template <class T>
LaneDistances distances_from(double mean, double abs_mean, const T* data, std::size_t count,
                             double scale) noexcept {
  const std::size_t rows = count / kLanes;
  LaneDistances distances;
  sum_row_distances(data, rows, scale, mean, abs_mean, distances);
  for (std::size_t i = rows * kLanes; i < count; ++i)
    add_element(distances, i % kLanes, static_cast<double>(data[i]) * scale, mean, abs_mean);
  return distances;
}

/// The unit whose squares neither overflow, even 2^60 of them, nor vanish beside the largest.
BlockSummary::Unit unit_for(double abs_max) noexcept {
  if (abs_max > 0x1p480) return BlockSummary::Large;
  if (abs_max < 0x1p-450 && abs_max > 0) return BlockSummary::Small;
  return BlockSummary::Plain;
}

double scale_of(BlockSummary::Unit unit) noexcept {
  return unit == BlockSummary::Plain ? 1 : unit == BlockSummary::Large ? 0x1p-600 : 0x1p600;
}

BlockMoments in_plain_unit(const BlockMoments& moments, BlockSummary::Unit unit) noexcept {
  if (unit == BlockSummary::Plain) return moments;
  const double scale = scale_of(unit);
  return {moments.mean / scale, moments.mean_rest / scale, moments.distances / scale / scale};
}

/// A block of floats or doubles.
template <class T>
struct WideBlock {
  const T* data;
  std::size_t count;

  const T* elements() const noexcept { return data; }
  std::int64_t zeros() const noexcept { return count_zeros(data, count); }
};

/// A full block of elements that become floats only if their values are asked for.
struct NarrowBlock {
  NarrowBlock(DType type, const std::byte* elements) noexcept : dtype(type), data(elements) {}

  DType dtype;
  const std::byte* data;
  std::size_t count = StatisticsAccumulator::kBlockElements;
  alignas(64) std::array<float, StatisticsAccumulator::kBlockElements> floats;

  const float* elements() noexcept {
    widen(dtype, data, count, floats.data());
    return floats.data();
  }
};

/// A full block of halves.
struct HalfBlock : NarrowBlock {
  using NarrowBlock::NarrowBlock;
  std::int64_t zeros() const noexcept { return count_half_row_zeros(data, count / kLanes); }
};

/// A full block of integers or bools of 8 bits. Nothing asks for the zeros of integers.
struct ByteBlock : NarrowBlock {
  using NarrowBlock::NarrowBlock;
  static std::int64_t zeros() noexcept { return 0; }
};

/// Sums over all lanes of a block.
struct BlockSums {
  explicit BlockSums(const LaneSums& lanes) noexcept
      : values(tree_sum(lanes.values)),
        magnitudes(tree_sum(lanes.magnitudes)),
        squares(tree_sum(lanes.squares)) {}
  explicit BlockSums(const ByteSums& bytes) noexcept
      : values(static_cast<double>(bytes.values)),
        magnitudes(static_cast<double>(bytes.magnitudes)),
        squares(static_cast<double>(bytes.squares)) {}

  double values, magnitudes, squares;
};

/// Completes a block's summary from the sums and extremes of the first sweep.
template <class Block>
BlockSummary summarise(BlockSums sums, Range<double> range, Block& block) noexcept {
  const std::size_t count = block.count;
  const auto elements = static_cast<std::int64_t>(count);
  ValueCounts counts;
  if (!std::isfinite(sums.magnitudes)) {
    counts = count_specials(block.elements(), count);
    if (counts.nan == 0) range = range_of(block.elements(), count);
  }
  if (counts.nan > 0 || range.abs_min == 0) counts.zero = block.zeros();
  if (counts.nan + counts.pos_inf + counts.neg_inf > 0)
    return {.elements = elements, .counts = counts, .range = range};

  const BlockSummary::Unit unit = unit_for(range.abs_max());
  const double scale = scale_of(unit);
  if (unit != BlockSummary::Plain) {
    LaneSums lanes;
    sum_block(block.elements(), count, scale, lanes);
    sums = BlockSums(lanes);
  }
  const auto n = static_cast<double>(count);
  BlockMoments moments = quick_moments(sums.values, sums.squares, n);
  BlockMoments abs_moments = quick_moments(sums.magnitudes, sums.squares, n);
  const bool constant = range.min == range.max;
  const bool abs_constant = range.abs_min == range.abs_max();
  const double least = kTooMuchCancelled * sums.squares;
  if ((!constant && moments.distances < least) ||
      (!abs_constant && abs_moments.distances < least)) {
    const LaneDistances careful =
        distances_from(moments.mean, abs_moments.mean, block.elements(), count, scale);
    moments = careful_moments(moments.mean, careful.values, careful.squares, n);
    abs_moments = careful_moments(abs_moments.mean, careful.abs_values, careful.abs_squares, n);
  }
  if (constant) moments = {range.min * scale, 0, 0};
  if (abs_constant) abs_moments = {range.abs_min * scale, 0, 0};
  return {.elements = elements,
          .counts = counts,
          .range = range,
          .unit = unit,
          .sum = sums.values,
          .magnitudes = sums.magnitudes,
          .squares = sums.squares,
          .moments = in_plain_unit(moments, unit),
          .abs_moments = in_plain_unit(abs_moments, unit)};
}

template <class T>
BlockSummary summarise(const T* data, std::size_t count) noexcept {
  LaneSums lanes;
  const Range<double> range = sum_block(data, count, 1, lanes);
  WideBlock<T> block{data, count};
  return summarise(BlockSums(lanes), range, block);
}

}  // namespace

BlockSummary summarise_block(const float* data, std::size_t count) noexcept {
  return summarise(data, count);
}

BlockSummary summarise_block(const double* data, std::size_t count) noexcept {
  return summarise(data, count);
}

BlockSummary summarise_half_block(DType dtype, const std::byte* data) noexcept {
  LaneSums lanes;
  Range<float> range;
  HalfBlock block(dtype, data);
  sum_half_rows(dtype, data, block.count / kLanes, lanes, range);
  return summarise(BlockSums(lanes), in_double(range), block);
}

BlockSummary summarise_byte_block(DType dtype, const std::byte* data) noexcept {
  const ByteSums sums = sum_bytes(dtype, data);
  const Range<double> range{static_cast<double>(sums.min), static_cast<double>(sums.max),
                            static_cast<double>(sums.abs_min)};
  ByteBlock block(dtype, data);
  return summarise(BlockSums(sums), range, block);
}

}  // namespace cupel::stats_detail
