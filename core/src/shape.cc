#include "cupel/core/shape.h"

#include <algorithm>

namespace cupel {

std::int64_t Shape::elements() const noexcept {
  if (!valid()) return -1;
  std::int64_t product = 1;
  bool overflow = false;
  for (const std::int64_t extent : *this) {
    if (extent < 0) return -1;
    overflow = overflow || __builtin_mul_overflow(product, extent, &product);
  }
  // An empty tensor is empty however large its other extents are.
  if (std::ranges::find(*this, 0) != end()) return 0;
  return overflow ? -1 : product;
}

bool operator==(const Shape& a, const Shape& b) noexcept {
  return a.rank_ == b.rank_ && std::ranges::equal(a, b);
}

std::string to_string(const Shape& shape) {
  if (!shape.valid()) return "(invalid)";
  std::string text = "(";
  for (const std::int64_t extent : shape)
    text.append(text.size() > 1 ? ", " : "").append(std::to_string(extent));
  return text + ")";
}

}  // namespace cupel
