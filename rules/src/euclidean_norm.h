#pragma once

#include <cmath>
#include <span>

namespace cupel::rules_detail {

/// The root of the sum of squares of numbers that come piece by piece; over- and underflows only if
/// the result does. NaN if any is, else infinite if any is.
class EuclideanNorm {
 public:
  void add(std::span<const double> numbers) noexcept {
    double largest = 0;
    for (const double number : numbers) {
      const double magnitude = std::abs(number);
      if (magnitude > largest || std::isnan(magnitude)) largest = magnitude;
      if (std::isnan(largest)) break;
    }
    if (largest == 0) return;
    if (!std::isfinite(largest)) {
      // hypot would let an infinity prevail over a NaN.
      norm_ = std::isnan(norm_) ? norm_ : norm_ + largest;
      return;
    }
    double sum = 0;
    for (const double number : numbers) {
      const double scaled = number / largest;
      sum += scaled * scaled;
    }
    norm_ = std::isfinite(norm_) ? std::hypot(norm_, largest * std::sqrt(sum)) : norm_;
  }
  double value() const noexcept { return norm_; }

 private:
  double norm_ = 0;
};

}  // namespace cupel::rules_detail
