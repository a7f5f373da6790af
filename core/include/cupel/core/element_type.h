#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "cupel/core/dtype.h"

namespace cupel {

/// Calls `f` with an element of the C++ type of a numeric dtype and returns what it returns. The
/// element is 0; it is there for its type, as in
///
///     with_element_type(dtype, [&]<class T>(T) { … });
///
/// Text has no such type: the caller has dealt with Utf8 before.
template <class F>
decltype(auto) with_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Bool:
      return f(bool{});
    case DType::I8:
      return f(std::int8_t{});
    case DType::I16:
      return f(std::int16_t{});
    case DType::I32:
      return f(std::int32_t{});
    case DType::I64:
      return f(std::int64_t{});
    case DType::U8:
      return f(std::uint8_t{});
    case DType::U16:
      return f(std::uint16_t{});
    case DType::U32:
      return f(std::uint32_t{});
    case DType::U64:
      return f(std::uint64_t{});
    case DType::F16:
      return f(Float16{});
    case DType::BF16:
      return f(BFloat16{});
    case DType::F32:
      return f(float{});
    case DType::F64:
    case DType::Utf8:
      break;
  }
  assert(dtype == DType::F64);
  return f(double{});
}

/// The double that an element is. An integer beyond 2^53 is rounded.
template <TensorElement T>
requires(kDTypeOf<T> != DType::Utf8) double as_double(T element) noexcept {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return static_cast<double>(static_cast<float>(element));
  else
    return static_cast<double>(element);
}

}  // namespace cupel
