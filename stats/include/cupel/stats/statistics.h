#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cupel/core/dtype.h"
#include "cupel/core/reduction.h"
#include "cupel/core/tensor_view.h"
#include "cupel/core/value_counts.h"

namespace cupel {

namespace stats_detail {
struct BlockMoments;
struct BlockSummary;
}  // namespace stats_detail

/// Everything one pass over a tensor yields.
///
/// Arithmetic is in double over the flattened tensor; integers beyond 2^53 are rounded first. The
/// variance divides by n and is never negative; that of equal elements is exactly 0. Sum, mean, l1
/// and l2 overflow or vanish only if they are themselves beyond double's range, not on the way; a
/// variance is infinite from about 1e308 / n on, and 0 below double's range.
///
/// A NaN among the elements makes every number NaN. Without one, an infinity makes min, max, sum,
/// mean, l1 and l2 what IEEE says, and both variances NaN. Zeros are reported as +0 and NaNs as one
/// NaN, so that the same elements give the same bits on every machine.
///
/// As initialised here, these are the statistics of an empty tensor.
struct Statistics {
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

  std::int64_t elements = 0;
  ValueCounts counts;
  double min = kNaN;
  double max = kNaN;
  double sum = 0;
  double mean = kNaN;
  double variance = kNaN;
  double l1 = 0;  ///< Also the sum of the magnitudes.
  double l2 = 0;
  double abs_min = kNaN;
  double abs_max = kNaN;
  double abs_mean = kNaN;
  double abs_variance = kNaN;

  /// Any reduction but prod and median, which one pass does not yield: those answer NaN.
  double get(Reduction reduction) const noexcept;
};

/// Accumulates Statistics over consecutive pieces of one row-major tensor.
///
/// The result does not depend on how the tensor was cut into pieces, as long as each piece but the
/// last is a multiple of kBlockElements elements. A value: copies go on independently. Not for
/// several threads at once.
class StatisticsAccumulator {
 public:
  static constexpr std::size_t kBlockElements = 2048;

  /// Numeric dtypes only.
  explicit StatisticsAccumulator(DType dtype) noexcept : dtype_(dtype) {}
  /// `data` holds `elements` elements at any alignment; it may be null if there are none.
  void add(const void* data, std::size_t elements) noexcept;
  /// The statistics of what was added so far; more may be added afterwards.
  Statistics finish() const noexcept;

 private:
  // A sum that carries along what its roundings lost (Neumaier).
  struct CompensatedSum {
    double total = 0;
    double lost = 0;
    void add(double term) noexcept;
    double value() const noexcept;
  };
  // A sum whose terms come in three ranges, each kept in a unit of its own (Blue).
  using RangedSum = std::array<CompensatedSum, 3>;
  // Mean, what its rounding lost, and sum of squared distances from it, merged block by block
  // (Chan).
  struct Moments {
    double mean = 0;
    double mean_rest = 0;
    double distances = 0;
    void merge(double before, const stats_detail::BlockMoments& block, double count) noexcept;
  };

  void merge(const stats_detail::BlockSummary& block) noexcept;

  DType dtype_;
  std::int64_t elements_ = 0;
  ValueCounts counts_;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  double abs_min_ = std::numeric_limits<double>::infinity();
  RangedSum sum_, magnitudes_, squares_;
  Moments values_, absolutes_;
};

/// The statistics of a whole tensor in one pass, strided ones included, allocating nothing. Valid
/// numeric views only.
Statistics compute_statistics(const TensorView& view) noexcept;

/// Those of `wanted` that one pass does not yield: prod and median.
ReductionSet beyond_one_pass(ReductionSet wanted) noexcept;

/// The wanted reductions of a whole tensor, prod and median included. Valid numeric views only.
///
/// Those of Statistics are taken from `known` if given, and cost one pass otherwise. prod is the
/// product in double, over- or underflowing only if the result does. median is exact, for an even
/// number of elements the mean of the two middle ones. A NaN among the elements makes every
/// reduction NaN; of an empty tensor sum, l1 and l2 are 0, prod is 1 and the others NaN. An abs
/// form is that of the magnitudes, so abs_sum, l1 and abs_l1 agree, as do l2 and abs_l2. Throws
/// std::bad_alloc if a median's working memory (up to an eighth of the tensor) cannot be had.
ReductionValues compute_reductions(const TensorView& view, ReductionSet wanted,
                                   const Statistics* known = nullptr);

}  // namespace cupel
