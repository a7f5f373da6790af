#include "class_numbers.h"

#include <cmath>

#include "elements.h"

namespace cupel::rules_detail {
namespace {

std::int64_t class_of(double element) noexcept {
  constexpr double kExact = 9007199254740992.0;  // 2^53: whole numbers up to it are themselves
  if (!(std::abs(element) <= kExact)) return kNoClass;
  if (element != std::floor(element)) return element >= 0.5 ? 1 : 0;
  return static_cast<std::int64_t>(element);
}

}  // namespace

void append_classes(const TensorValue& value, std::vector<std::int64_t>& into) {
  into.reserve(into.size() + static_cast<std::size_t>(value.elements()));
  for_each_span(value, [&](std::span<const double> elements, std::size_t) {
    for (const double element : elements) into.push_back(class_of(element));
    return true;
  });
}

void append_largest(const TensorValue& value, std::vector<std::int64_t>& into) {
  const std::int64_t classes = value.shape()[value.shape().rank() - 1];
  std::int64_t column = 0;
  std::int64_t at = 0;
  double largest = 0;
  bool nan = false;
  for_each_span(value, [&](std::span<const double> elements, std::size_t) {
    for (const double element : elements) {
      if (column == 0 || element > largest) {
        largest = element;
        at = column;
      }
      nan = nan || std::isnan(element);
      if (++column < classes) continue;
      into.push_back(nan ? kNoClass : at);
      column = 0;
      nan = false;
    }
    return true;
  });
}

bool has_rows(const TensorValue& value) noexcept {
  const Shape& shape = value.shape();
  return shape.rank() > 0 && shape[shape.rank() - 1] > 1;
}

}  // namespace cupel::rules_detail
