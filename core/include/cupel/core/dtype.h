#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace cupel {

/// The element types a tensor may have. The order is the order of the files' dtype dictionary.
enum class DType : std::int8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  Utf8
};

inline constexpr std::array<DType, 14> kAllDTypes = {
    DType::Bool, DType::I8,  DType::I16, DType::I32,  DType::I64, DType::U8,  DType::U16,
    DType::U32,  DType::U64, DType::F16, DType::BF16, DType::F32, DType::F64, DType::Utf8};

/// "bool", "i8" … "f64", "utf8": the names in files and on the command line.
std::string_view to_string(DType dtype) noexcept;

/// The inverse of to_string; nothing for other text.
std::optional<DType> parse_dtype(std::string_view text) noexcept;

/// Bytes of one element; 0 for Utf8, whose elements differ in length.
std::size_t element_size(DType dtype) noexcept;

constexpr bool is_floating(DType dtype) noexcept {
  return dtype >= DType::F16 && dtype <= DType::F64;
}

/// IEEE 754 binary16 as its bits; converts to float exactly.
struct Float16 {
  std::uint16_t bits = 0;
  explicit operator float() const noexcept;
  friend bool operator==(Float16, Float16) = default;
};

/// The upper half of a binary32 as its bits; converts to float exactly.
struct BFloat16 {
  std::uint16_t bits = 0;
  explicit operator float() const noexcept;
  friend bool operator==(BFloat16, BFloat16) = default;
};

namespace detail {

template <class T>
consteval std::optional<DType> dtype_of_type() {
  if constexpr (std::same_as<T, bool>) return DType::Bool;
  if constexpr (std::same_as<T, Float16>) return DType::F16;
  if constexpr (std::same_as<T, BFloat16>) return DType::BF16;
  if constexpr (std::same_as<T, float>) return DType::F32;
  if constexpr (std::same_as<T, double>) return DType::F64;
  if constexpr (std::same_as<T, std::string>) return DType::Utf8;
  if constexpr (std::integral<T> && !std::same_as<T, bool> && std::is_signed_v<T>) {
    if constexpr (sizeof(T) == 1) return DType::I8;
    if constexpr (sizeof(T) == 2) return DType::I16;
    if constexpr (sizeof(T) == 4) return DType::I32;
    if constexpr (sizeof(T) == 8) return DType::I64;
  }
  if constexpr (std::integral<T> && !std::same_as<T, bool> && !std::is_signed_v<T>) {
    if constexpr (sizeof(T) == 1) return DType::U8;
    if constexpr (sizeof(T) == 2) return DType::U16;
    if constexpr (sizeof(T) == 4) return DType::U32;
    if constexpr (sizeof(T) == 8) return DType::U64;
  }
  return std::nullopt;
}

}  // namespace detail

/// A C++ type that is the element of a tensor: bool, the integers, the four floats, std::string.
template <class T>
concept TensorElement = detail::dtype_of_type<T>()
.has_value();

/// The DType of a C++ element type.
template <TensorElement T>
inline constexpr DType kDTypeOf = *detail::dtype_of_type<T>();

}  // namespace cupel
