#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "array.h"
#include "cupel/core/reduction.h"
#include "cupel/stats/statistics.h"

// All of numeric arrays. `magnitudes` asks for what holds of the elements' magnitudes.

namespace cupel::scripting_detail {

/// The dtype to whose statistics a dtype's are equal, which take less time: a bool is a byte of 0
/// or 1.
constexpr DType dtype_for_statistics(DType dtype) noexcept {
  return dtype == DType::Bool ? DType::U8 : dtype;
}
/// The result of compute_statistics, to the bit.
Statistics statistics_of(Budget& budget, const Array& array);
/// The result of compute_reductions, to the bit; `known` are the array's statistics.
double reduce(Budget& budget, const Array& array, Reduction reduction, const Statistics& known);
/// How many elements are not 0.
std::int64_t count_nonzero(Budget& budget, const Array& array);

/// Interpolates linearly between the elements next to q * (elements - 1) in their order. NaN of no
/// elements, or if one is NaN.
double quantile(Budget& budget, const Array& array, double q, bool magnitudes,
                const Statistics& known);

/// The p-norm for any p > 0, infinity included.
double norm(Budget& budget, const Array& array, double p, const Statistics& known);

/// Looks for the first of the largest or least elements, or the first NaN, as they are added.
class Extreme {
 public:
  explicit Extreme(bool largest) noexcept : largest_(largest) {}
  void add(const double* elements, std::int64_t count) noexcept;
  std::int64_t index() const noexcept { return index_; }  ///< Of elements that were at least one.

 private:
  bool largest_;
  double extreme_ = 0;
  std::int64_t index_ = 0;
  std::int64_t added_ = 0;
};
/// The index of the array's; the array is not empty.
std::int64_t index_of_extreme(Budget& budget, const Array& array, bool largest);

struct Histogram {
  std::vector<double> edges;  ///< One more than bins.
  std::vector<std::int64_t> counts;
  std::int64_t nan = 0;
  std::int64_t below = 0;
  std::int64_t above = 0;
};
/// Counts elements in bins of equal width, each without its upper edge but the last. Without a
/// range: from the least to the largest finite element.
Histogram histogram(Budget& budget, const Array& array, std::int64_t bins,
                    std::optional<std::pair<double, double>> range);

}  // namespace cupel::scripting_detail
