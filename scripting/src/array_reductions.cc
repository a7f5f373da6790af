// Reductions of whole arrays: statistics, norms, quantiles and places of extremes.
//
// The statistics are those of the room stats, to the bit, computed in pieces so that the budget is
// asked between them. The thread of the Lua state runs it; the budget throws where a limit is
// reached.

#include "array_reductions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "array_selection.h"

namespace cupel::scripting_detail {
namespace {

// compute_reductions finds the median of so many elements within some milliseconds.
constexpr std::int64_t kMostElementsAtOnce = std::int64_t{1} << 20U;

double median(Budget& budget, const Array& array, bool magnitudes, const Statistics& known) {
  const double min = magnitudes ? known.abs_min : known.min;
  const double max = magnitudes ? known.abs_max : known.max;
  if (std::isnan(min) || min == max) return min;
  const std::int64_t elements = array.elements();
  const auto [lower, upper] = elements_of_rank(budget, array, magnitudes, (elements - 1) / 2);
  return elements % 2 == 1 ? lower : std::midpoint(lower, upper);
}

}  // namespace

Statistics statistics_of(Budget& budget, const Array& array) {
  StatisticsAccumulator statistics(dtype_for_statistics(array.dtype()));
  const std::size_t size = element_size(array.dtype());
  for_each_piece(budget, array.elements(), Cost::Simple, [&](auto begin, auto count) {
    statistics.add(array.data() + static_cast<std::size_t>(begin) * size,
                   static_cast<std::size_t>(count));
  });
  return statistics.finish();
}

double reduce(Budget& budget, const Array& array, Reduction reduction, const Statistics& known) {
  const bool is_median = reduction.op == ReductionOp::Median;
  if (!is_median && reduction.op != ReductionOp::Prod) return known.get(reduction);
  if (is_median && array.elements() > kMostElementsAtOnce)
    return median(budget, array, reduction.abs, known);
  // The working memory of a median, which lasts as long as this.
  const std::shared_ptr<AlignedBuffer> room =
      is_median ? budget.allocate(static_cast<std::size_t>(array.elements()) + (32U << 10U))
                : nullptr;
  budget.charge(array.elements() / (is_median ? 2 : 4) + 1);
  ReductionSet wanted;
  wanted.add(reduction);
  const TensorView view(array.data(), dtype_for_statistics(array.dtype()), array.shape());
  return *compute_reductions(view, wanted, &known).get(reduction);
}

std::int64_t count_nonzero(Budget& budget, const Array& array) {
  std::int64_t nonzero = 0;
  if (array.dtype() == DType::Bool) {
    for_each_piece(budget, array.elements(), Cost::Simple, [&](auto begin, auto count) {
      const std::byte* const flags = array.data() + begin;
      nonzero += std::count(flags, flags + count, std::byte{1});
    });
    return nonzero;
  }
  for_each_widened(budget, array, Cost::Simple,
                   [&](const double* elements, std::int64_t, std::int64_t count) {
                     nonzero += count - std::count(elements, elements + count, 0.0);
                   });
  return nonzero;
}

double norm(Budget& budget, const Array& array, double p, const Statistics& known) {
  if (p == 1) return known.l1;
  if (p == 2) return known.l2;
  const double largest = array.elements() == 0 ? 0 : known.abs_max;
  if (std::isinf(p) || largest == 0 || !std::isfinite(largest)) return largest;
  // Of elements in units of the largest, so that nothing overflows.
  StatisticsAccumulator powers(DType::F64);
  std::array<double, StatisticsAccumulator::kBlockElements> block;
  for_each_widened(budget, array, Cost::Function,
                   [&](const double* elements, std::int64_t begin, std::int64_t count) {
                     const auto place = begin % static_cast<std::int64_t>(block.size());
                     for (std::int64_t i = 0; i < count; ++i)
                       block[static_cast<std::size_t>(place + i)] =
                           std::pow(std::abs(elements[i]) / largest, p);
                     if (place > 0 || begin + count == array.elements())
                       powers.add(block.data(), static_cast<std::size_t>(place + count));
                   });
  return largest * std::pow(powers.finish().sum, 1 / p);
}

void Extreme::add(const double* elements, std::int64_t count) noexcept {
  if (added_ == 0 && count > 0) extreme_ = elements[0];
  for (std::int64_t i = 0; i < count && !std::isnan(extreme_); ++i) {
    const double x = elements[i];
    const bool better = largest_ ? x > extreme_ : x < extreme_;
    if (!better && !std::isnan(x)) continue;
    extreme_ = x;
    index_ = added_ + i;
  }
  added_ += count;
}

std::int64_t index_of_extreme(Budget& budget, const Array& array, bool largest) {
  Extreme extreme(largest);
  for_each_widened(budget, array, Cost::Single,
                   [&](const double* elements, std::int64_t, std::int64_t count) {
                     extreme.add(elements, count);
                   });
  return extreme.index();
}

}  // namespace cupel::scripting_detail
