#pragma once

#include <cstdint>

namespace cupel {

/// How many elements of a floating-point tensor are special.
struct ValueCounts {
  std::int64_t nan = 0;
  std::int64_t pos_inf = 0;
  std::int64_t neg_inf = 0;
  std::int64_t zero = 0;  ///< Of either sign.
  friend bool operator==(const ValueCounts&, const ValueCounts&) = default;
};

}  // namespace cupel
