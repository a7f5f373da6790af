#include "cupel/core/dtype.h"

#include <bit>

namespace cupel {

std::string_view to_string(DType dtype) noexcept {
  switch (dtype) {
    case DType::Bool:
      return "bool";
    case DType::I8:
      return "i8";
    case DType::I16:
      return "i16";
    case DType::I32:
      return "i32";
    case DType::I64:
      return "i64";
    case DType::U8:
      return "u8";
    case DType::U16:
      return "u16";
    case DType::U32:
      return "u32";
    case DType::U64:
      return "u64";
    case DType::F16:
      return "f16";
    case DType::BF16:
      return "bf16";
    case DType::F32:
      return "f32";
    case DType::F64:
      return "f64";
    case DType::Utf8:
      return "utf8";
  }
  return "(no dtype)";
}

std::optional<DType> parse_dtype(std::string_view text) noexcept {
  for (const DType dtype : kAllDTypes)
    if (to_string(dtype) == text) return dtype;
  return std::nullopt;
}

std::size_t element_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::Bool:
    case DType::I8:
    case DType::U8:
      return 1;
    case DType::I16:
    case DType::U16:
    case DType::F16:
    case DType::BF16:
      return 2;
    case DType::I32:
    case DType::U32:
    case DType::F32:
      return 4;
    case DType::I64:
    case DType::U64:
    case DType::F64:
      return 8;
    case DType::Utf8:
      return 0;
  }
  return 0;
}

// A half has 1 sign, 5 exponent (bias 15) and 10 fraction bits; a float 1, 8 (bias 127) and 23.
Float16::operator float() const noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {  // zero and subnormals: fraction / 2^24, which a float holds exactly
    const auto magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
    return std::bit_cast<float>(sign | magnitude);
  }
  const std::uint32_t wide_exponent = exponent == 0x1f ? 0xffU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide_exponent << 23U | fraction << 13U);
}

BFloat16::operator float() const noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

}  // namespace cupel
