#pragma once

#include <cstddef>

#include "lanes.h"

namespace cupel::stats_detail {

/// Multiplies blocks onto sixteen lanes, each with an exponent of its own, so that nothing
/// overflows or vanishes on the way. Every block but the last is a whole number of rows.
class Product {
 public:
  Product() noexcept;
  void multiply(const float* data, std::size_t count) noexcept;
  void multiply(const double* data, std::size_t count) noexcept;
  double value() const noexcept;

 private:
  LaneProducts products_;
};

}  // namespace cupel::stats_detail
