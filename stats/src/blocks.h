#pragma once

// Presents elements of any dtype as blocks of floats, where a float holds every value exactly, and
// of doubles otherwise.

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cupel/core/dtype.h"
#include "cupel/stats/statistics.h"
#include "row_kernels.h"

namespace cupel::internal {

/// A byte of a bool tensor, which foreign programs may have set to more than 1.
struct BoolByte {
  std::uint8_t byte;
};

inline float widened(Float16 half) noexcept { return static_cast<float>(half); }
inline float widened(BFloat16 half) noexcept { return static_cast<float>(half); }
inline float widened(BoolByte element) noexcept { return element.byte != 0 ? 1 : 0; }
template <std::integral T>
auto widened(T element) noexcept {
  return static_cast<std::conditional_t<sizeof(T) <= 2, float, double>>(element);
}

template <class T, class Wide>
void widen(const T* from, std::size_t count, Wide* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = widened(from[i]);
}

/// Calls `f` with a T for the type of a dtype's elements; not for Utf8.
template <class F>
decltype(auto) with_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Bool:
      return f(BoolByte{});
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
    case DType::F64:
      return f(double{});
    case DType::F32:
    case DType::Utf8:
      break;
  }
  assert(dtype == DType::F32);
  return f(float{});
}

/// Calls `f(const float*, count)` or `f(const double*, count)` for one block after the other; every
/// block but the last is full. `data` may be misaligned.
template <class F>
void for_each_block(DType dtype, const void* data, std::size_t elements, F&& f) {
  with_element_type(dtype, [&]<class T>(T) {
    constexpr std::size_t kBlock = StatisticsAccumulator::kBlockElements;
    const auto* bytes = static_cast<const std::byte*>(data);
    const bool aligned = reinterpret_cast<std::uintptr_t>(bytes) % alignof(T) == 0;
    for (std::size_t done = 0; done < elements; done += kBlock) {
      const std::size_t count = std::min(kBlock, elements - done);
      const std::byte* source = bytes + done * sizeof(T);
      if constexpr (std::floating_point<T>) {
        if (aligned) {
          f(reinterpret_cast<const T*>(source), count);
          continue;
        }
      }
      alignas(64) std::array<T, kBlock> block;
      std::memcpy(block.data(), source, count * sizeof(T));
      if constexpr (std::floating_point<T>) {
        f(std::as_const(block).data(), count);
      } else {
        using Wide = std::conditional_t<sizeof(T) <= 2, float, double>;
        alignas(64) std::array<Wide, kBlock> wide;
        widen(block.data(), count, wide.data());
        f(std::as_const(wide).data(), count);
      }
    }
  });
}

}  // namespace cupel::internal
