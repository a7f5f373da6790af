#include "elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace cupel {
namespace {

template <class T>
void widen_as(const TensorValue& value, std::size_t begin, std::span<double> out) noexcept {
  const std::span<const T> elements = value.as<T>().subspan(begin, out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
      out[i] = static_cast<double>(static_cast<float>(elements[i]));
    else
      out[i] = static_cast<double>(elements[i]);
  }
}

}  // namespace

void widen(const TensorValue& value, std::size_t begin, std::span<double> out) noexcept {
  switch (value.dtype()) {
    case DType::Bool:
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = value.at(static_cast<std::int64_t>(begin + i));
      return;
    case DType::I8:
      return widen_as<std::int8_t>(value, begin, out);
    case DType::I16:
      return widen_as<std::int16_t>(value, begin, out);
    case DType::I32:
      return widen_as<std::int32_t>(value, begin, out);
    case DType::I64:
      return widen_as<std::int64_t>(value, begin, out);
    case DType::U8:
      return widen_as<std::uint8_t>(value, begin, out);
    case DType::U16:
      return widen_as<std::uint16_t>(value, begin, out);
    case DType::U32:
      return widen_as<std::uint32_t>(value, begin, out);
    case DType::U64:
      return widen_as<std::uint64_t>(value, begin, out);
    case DType::F16:
      return widen_as<Float16>(value, begin, out);
    case DType::BF16:
      return widen_as<BFloat16>(value, begin, out);
    case DType::F32:
      return widen_as<float>(value, begin, out);
    case DType::F64:
      return widen_as<double>(value, begin, out);
    case DType::Utf8:
      return;
  }
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

}  // namespace cupel
