#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "cupel/trial/tensor_value.h"

namespace cupel::rules_detail {

/// Copies elements from `begin` on into `out`, as doubles: half types widened, bool as 0 and 1.
/// Numeric dtypes only; the value holds that many.
void widen(const TensorValue& value, std::size_t begin, std::span<double> out) noexcept;

/// Whether an element is NaN.
bool holds_nan(const TensorValue& value);

inline constexpr std::size_t kElementsAtOnce = 512;

/// Calls `visit(span, begin)` for the elements as doubles, some hundred at a time, until it returns
/// false.
template <class F>
void for_each_span(const TensorValue& value, F&& visit) {
  std::array<double, kElementsAtOnce> buffer;
  const auto elements = static_cast<std::size_t>(value.elements());
  for (std::size_t begin = 0; begin < elements; begin += kElementsAtOnce) {
    const std::span<double> span(buffer.data(), std::min(kElementsAtOnce, elements - begin));
    widen(value, begin, span);
    if (!visit(std::span<const double>(span), begin)) return;
  }
}

/// The same with two values of one number of elements: `visit(a, b)`.
template <class F>
void for_each_span(const TensorValue& first, const TensorValue& second, F&& visit) {
  std::array<double, kElementsAtOnce> buffer;
  for_each_span(first, [&](std::span<const double> a, std::size_t begin) {
    const std::span<double> b(buffer.data(), a.size());
    widen(second, begin, b);
    return visit(a, std::span<const double>(b));
  });
}

}  // namespace cupel::rules_detail
