#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cupel/stats/statistics.h"

namespace cupel {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The same numbers every time, on every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  double uniform(double low, double high) {
    return low + (high - low) * std::ldexp(static_cast<double>(engine_() >> 11U), -53);
  }
  template <class T>
  std::vector<T> uniform(std::size_t count, double low, double high) {
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(uniform(low, high));
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

/// The plain two-pass loop, in long double.
inline Statistics reference_statistics(std::span<const long double> values) {
  Statistics expected;
  if (values.empty()) return expected;
  const auto count = static_cast<long double>(values.size());
  long double sum = 0, magnitudes = 0, squares = 0;
  long double min = values[0], max = min, abs_min = std::abs(min), abs_max = abs_min;
  for (const long double x : values) {
    sum += x;
    magnitudes += std::abs(x);
    squares += x * x;
    min = std::min(min, x);
    max = std::max(max, x);
    abs_min = std::min(abs_min, std::abs(x));
    abs_max = std::max(abs_max, std::abs(x));
  }
  // Distances from a mean that is rounded, and what they amount to.
  long double distances = 0, abs_distances = 0, rest = 0, abs_rest = 0;
  for (const long double x : values) {
    const long double distance = x - sum / count;
    const long double abs_distance = std::abs(x) - magnitudes / count;
    rest += distance;
    abs_rest += abs_distance;
    distances += distance * distance;
    abs_distances += abs_distance * abs_distance;
  }
  distances -= rest * rest / count;
  abs_distances -= abs_rest * abs_rest / count;
  expected.elements = static_cast<std::int64_t>(values.size());
  expected.min = static_cast<double>(min);
  expected.max = static_cast<double>(max);
  expected.sum = static_cast<double>(sum);
  expected.mean = static_cast<double>(sum / count);
  expected.variance = static_cast<double>(distances / count);
  expected.l1 = static_cast<double>(magnitudes);
  expected.l2 = static_cast<double>(std::sqrt(squares));
  expected.abs_min = static_cast<double>(abs_min);
  expected.abs_max = static_cast<double>(abs_max);
  expected.abs_mean = static_cast<double>(magnitudes / count);
  expected.abs_variance = static_cast<double>(abs_distances / count);
  return expected;
}

template <class T>
Statistics reference_statistics(const std::vector<T>& values) {
  const std::vector<long double> wide(values.begin(), values.end());
  return reference_statistics(std::span<const long double>(wide));
}

inline bool is_near(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  return actual == expected || std::abs(actual - expected) <= tolerance;
}

template <class T>
double sorted_median(const std::vector<T>& values, bool magnitudes) {
  std::vector<double> wide;
  for (const T value : values) {
    const auto x = static_cast<double>(value);
    wide.push_back(magnitudes ? std::abs(x) : x);
  }
  std::ranges::sort(wide);
  const std::size_t middle = wide.size() / 2;
  return wide.size() % 2 == 1 ? wide[middle] : std::midpoint(wide[middle - 1], wide[middle]);
}

/// Extremes exactly; sums to 1e-12 of what they sum up, and variances to 1e-12 of themselves.
inline void expect_statistics(const Statistics& actual, const Statistics& expected) {
  constexpr double kTolerance = 1e-12;
  const auto near = [&](const char* what, double a, double b, double scale) {
    EXPECT_TRUE(is_near(a, b, kTolerance * scale)) << what << ": " << a << " is not " << b;
  };
  EXPECT_EQ(actual.elements, expected.elements);
  near("min", actual.min, expected.min, 0);
  near("max", actual.max, expected.max, 0);
  near("abs_min", actual.abs_min, expected.abs_min, 0);
  near("abs_max", actual.abs_max, expected.abs_max, 0);
  near("sum", actual.sum, expected.sum, expected.l1);
  near("mean", actual.mean, expected.mean, expected.abs_mean);
  near("l1", actual.l1, expected.l1, expected.l1);
  near("l2", actual.l2, expected.l2, expected.l2);
  near("abs_mean", actual.abs_mean, expected.abs_mean, expected.abs_mean);
  near("variance", actual.variance, expected.variance, expected.variance);
  near("abs_variance", actual.abs_variance, expected.abs_variance, expected.abs_variance);
}

/// The bits of every number of `statistics`, as text that shows where two differ.
inline std::string exact_text(const Statistics& statistics) {
  char text[640];
  std::snprintf(
      text, sizeof text,
      "%lld elements, %lld nan, %lld inf, %lld -inf, %lld zero, min %a, max %a, sum %a, mean %a, "
      "variance %a, l1 %a, l2 %a, abs_min %a, abs_max %a, abs_mean %a, abs_variance %a",
      static_cast<long long>(statistics.elements), static_cast<long long>(statistics.counts.nan),
      static_cast<long long>(statistics.counts.pos_inf),
      static_cast<long long>(statistics.counts.neg_inf),
      static_cast<long long>(statistics.counts.zero), statistics.min, statistics.max,
      statistics.sum, statistics.mean, statistics.variance, statistics.l1, statistics.l2,
      statistics.abs_min, statistics.abs_max, statistics.abs_mean, statistics.abs_variance);
  return text;
}

}  // namespace cupel
