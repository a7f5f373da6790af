#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cupel/trial/run_difference.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::trial_detail {

/// Decides whether two floating-point numbers count as the same (see RunComparisonOptions).
class Tolerance {
 public:
  /// Throws UsageError for a tolerance that is negative or not finite.
  Tolerance(double rtol, double atol);
  bool is_exact() const noexcept { return rtol_ == 0 && atol_ == 0; }
  bool same(double a, double b) const noexcept;

 private:
  double rtol_, atol_;
};

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

/// |a - b|; nothing if one is NaN.
std::optional<double> distance(double a, double b) noexcept;

/// How two values of one type and number of elements differ.
struct ValueDifference {
  /// The first element that differs, in row-major order.
  std::int64_t first = 0;
  /// The number of elements that differ.
  std::int64_t differing = 0;
  /// RunDifference::difference and RunDifference::greatest_difference.
  std::optional<double> at_first, greatest;
};

/// The difference of two values; nothing if no element differs.
std::optional<ValueDifference> difference_of(const TensorValue& a, const TensorValue& b,
                                             const Tolerance& tolerance);

ComparedNumber element_of(const TensorValue& value, std::int64_t index);

}  // namespace cupel::trial_detail
