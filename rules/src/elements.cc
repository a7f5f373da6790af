#include "elements.h"

#include <algorithm>
#include <cmath>

#include "cupel/core/element_type.h"

namespace cupel::rules_detail {

void widen(const TensorValue& value, std::size_t begin, std::span<double> out) noexcept {
  if (value.dtype() == DType::Utf8) return;
  with_element_type(value.dtype(), [&]<class T>(T) {
    const std::span<const T> elements = value.as<T>().subspan(begin, out.size());
    std::transform(elements.begin(), elements.end(), out.begin(), as_double<T>);
  });
}

bool holds_nan(const TensorValue& value) {
  bool found = false;
  if (!is_floating(value.dtype())) return found;
  for_each_span(value, [&](std::span<const double> elements, std::size_t) {
    found = std::any_of(elements.begin(), elements.end(), [](double x) { return std::isnan(x); });
    return !found;
  });
  return found;
}

}  // namespace cupel::rules_detail
