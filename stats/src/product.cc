#include "product.h"

#include <algorithm>
#include <cmath>

#include "cupel/stats/statistics.h"
#include "plain_rows.h"
#include "row_kernels.h"

namespace cupel::stats_detail {

Product::Product() noexcept {
  products_.mantissas.fill(1);
  products_.exponents.fill(0);
}

void Product::multiply(const float* data, std::size_t count) noexcept {
  const std::size_t rows = count / kLanes;
  multiply_rows(data, rows, products_);
  for (std::size_t i = rows * kLanes; i < count; ++i)
    multiply_element(products_, i % kLanes, static_cast<double>(data[i]));
}

void Product::multiply(const double* data, std::size_t count) noexcept {
  const std::size_t rows = count / kLanes;
  multiply_rows(data, rows, products_);
  for (std::size_t i = rows * kLanes; i < count; ++i)
    multiply_element(products_, i % kLanes, data[i]);
}

double Product::value() const noexcept {
  double mantissa = 1;
  std::int64_t exponent = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    mantissa *= products_.mantissas[i];
    exponent += products_.exponents[i];
  }
  if (std::isnan(mantissa)) return Statistics::kNaN;  // the one NaN, whichever came about
  constexpr std::int64_t kBeyondDouble = 4096;
  return std::ldexp(mantissa,
                    static_cast<int>(std::clamp(exponent, -kBeyondDouble, kBeyondDouble)));
}

}  // namespace cupel::stats_detail
