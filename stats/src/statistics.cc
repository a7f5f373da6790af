// Statistics of whole tensors: blocks are summarised one by one and merged in order.
//
// Blocks are merged in double: sums with Neumaier's compensation, moments by Chan's formula.
// Doubles of extreme size are summed in units of 2^-600, 1 and 2^600 apart from each other (Blue),
// so that l2, for one, is right for elements of 1e300 as for those of 1e-300.

#include "cupel/stats/statistics.h"

#include <algorithm>
#include <cmath>

#include "block_summary.h"
#include "blocks.h"
#include "byte_kernels.h"
#include "pieces.h"

namespace cupel {
namespace {

using stats_detail::BlockSummary;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A sum as value * 2^exponent.
struct ScaledValue {
  double value;
  int exponent;

  double unscaled() const noexcept { return std::ldexp(value, exponent) + 0.0; }  // never -0
};

/// The total of three sums in units that are 2^`apart` from each other. A sum two units below the
/// largest is too small to matter.
ScaledValue combine(double small, double middle, double large, int apart) noexcept {
  if (large != 0) return {large + std::ldexp(middle, -apart), apart};
  if (middle != 0) return {middle + std::ldexp(small, -apart), 0};
  return {small, -apart};
}

double variance_of(double distances, double count) noexcept {
  const double variance = distances / count;
  return std::isnan(variance) ? kInfinity : variance;  // of finite elements, so it overflowed
}

/// Sets the statistics that an infinity among the elements makes infinite or NaN.
void set_infinite(Statistics& statistics) noexcept {
  const bool both = statistics.counts.pos_inf > 0 && statistics.counts.neg_inf > 0;
  statistics.sum = both ? Statistics::kNaN : statistics.counts.pos_inf > 0 ? kInfinity : -kInfinity;
  statistics.mean = statistics.sum;
  statistics.l1 = statistics.l2 = statistics.abs_mean = kInfinity;
}

}  // namespace

void StatisticsAccumulator::CompensatedSum::add(double term) noexcept {
  const double sum = total + term;
  const double added = sum - total;
  lost +=
      (total - (sum - added)) + (term - added);  // exactly the rounding error of the sum (Knuth)
  total = sum;
}

double StatisticsAccumulator::CompensatedSum::value() const noexcept { return total + lost; }

void StatisticsAccumulator::Moments::merge(double before, const stats_detail::BlockMoments& block,
                                           double count) noexcept {
  if (before == 0) {
    *this = {block.mean, block.mean_rest, block.distances};
    return;
  }
  const double share = count / (before + count);
  const double delta = (block.mean - mean) + (block.mean_rest - mean_rest);
  const double change = mean_rest + delta * share;
  const double moved = mean + change;
  mean_rest = change - (moved - mean);
  mean = moved;
  distances += block.distances + delta * delta * (before * share);
}

void StatisticsAccumulator::add(const void* data, std::size_t elements) noexcept {
  const auto* bytes = static_cast<const std::byte*>(data);
  const auto merge_full_blocks = [&](auto summarise) {
    for (; elements >= kBlockElements; elements -= kBlockElements) {
      merge(summarise(dtype_, bytes));
      bytes += kBlockElements * element_size(dtype_);
    }
  };
  if (dtype_ == DType::F16 || dtype_ == DType::BF16)
    merge_full_blocks(stats_detail::summarise_half_block);
  else if (stats_detail::is_of_bytes(dtype_))
    merge_full_blocks(stats_detail::summarise_byte_block);
  stats_detail::for_each_block(dtype_, bytes, elements,
                               [this](const auto* block, std::size_t count) {
                                 merge(stats_detail::summarise_block(block, count));
                               });
}

void StatisticsAccumulator::merge(const BlockSummary& block) noexcept {
  const auto before = static_cast<double>(elements_);
  elements_ += block.elements;
  counts_.nan += block.counts.nan;
  counts_.pos_inf += block.counts.pos_inf;
  counts_.neg_inf += block.counts.neg_inf;
  counts_.zero += block.counts.zero;
  if (block.counts.nan == 0) {
    min_ = std::min(min_, block.range.min);
    max_ = std::max(max_, block.range.max);
    abs_min_ = std::min(abs_min_, block.range.abs_min);
  }
  if (!block.finite()) return;
  sum_[block.unit].add(block.sum);
  magnitudes_[block.unit].add(block.magnitudes);
  squares_[block.unit].add(block.squares);
  const auto count = static_cast<double>(block.elements);
  values_.merge(before, block.moments, count);
  absolutes_.merge(before, block.abs_moments, count);
}

Statistics StatisticsAccumulator::finish() const noexcept {
  Statistics statistics;
  statistics.elements = elements_;
  if (is_floating(dtype_)) statistics.counts = counts_;
  if (elements_ == 0) return statistics;
  if (counts_.nan > 0) {
    statistics.sum = statistics.l1 = statistics.l2 = Statistics::kNaN;
    return statistics;
  }
  // Adding 0 turns -0 into +0.
  statistics.min = min_ + 0.0;
  statistics.max = max_ + 0.0;
  statistics.abs_min = abs_min_;
  statistics.abs_max = std::max(-min_, max_) + 0.0;
  if (counts_.pos_inf + counts_.neg_inf > 0) {
    set_infinite(statistics);
    return statistics;
  }
  const auto total = [](const RangedSum& sum, int apart) {
    return combine(sum[BlockSummary::Small].value(), sum[BlockSummary::Plain].value(),
                   sum[BlockSummary::Large].value(), apart);
  };
  const auto count = static_cast<double>(elements_);
  const ScaledValue sum = total(sum_, BlockSummary::kUnitExponent);
  const ScaledValue magnitudes = total(magnitudes_, BlockSummary::kUnitExponent);
  const ScaledValue squares = total(squares_, 2 * BlockSummary::kUnitExponent);
  statistics.sum = sum.unscaled();
  // Rounding must not carry a mean out of the range, least of all that of a constant.
  statistics.mean = std::clamp(ScaledValue{sum.value / count, sum.exponent}.unscaled(),
                               statistics.min, statistics.max);
  statistics.l1 = magnitudes.unscaled();
  statistics.abs_mean =
      std::clamp(ScaledValue{magnitudes.value / count, magnitudes.exponent}.unscaled(),
                 statistics.abs_min, statistics.abs_max);
  statistics.l2 = ScaledValue{std::sqrt(squares.value), squares.exponent / 2}.unscaled();
  statistics.variance = variance_of(values_.distances, count);
  statistics.abs_variance = variance_of(absolutes_.distances, count);
  return statistics;
}

double Statistics::get(Reduction reduction) const noexcept {
  const bool abs = reduction.abs;
  switch (reduction.op) {
    case ReductionOp::Min:
      return abs ? abs_min : min;
    case ReductionOp::Max:
      return abs ? abs_max : max;
    case ReductionOp::Mean:
      return abs ? abs_mean : mean;
    case ReductionOp::Std:
      return std::sqrt(abs ? abs_variance : variance);
    case ReductionOp::Variance:
      return abs ? abs_variance : variance;
    case ReductionOp::Sum:
      return abs ? l1 : sum;
    case ReductionOp::L1:
      return l1;
    case ReductionOp::L2:
      return l2;
    case ReductionOp::Prod:
    case ReductionOp::Median:
      return kNaN;
  }
  return kNaN;
}

Statistics compute_statistics(const TensorView& view) noexcept {
  StatisticsAccumulator accumulator(view.dtype());
  stats_detail::for_each_piece(
      view, [&](const void* data, std::size_t count) { accumulator.add(data, count); });
  return accumulator.finish();
}

}  // namespace cupel
