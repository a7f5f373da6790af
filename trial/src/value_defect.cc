#include "value_defect.h"

#include <cstring>

namespace cupel::trial_detail {

namespace {

std::int64_t offset_at(const std::byte* offsets, std::int64_t index) noexcept {
  std::int64_t offset = 0;
  std::memcpy(&offset, offsets + static_cast<std::size_t>(index) * sizeof offset, sizeof offset);
  return offset;
}

/// The defect of the bytes of a Utf8 value (elements + 1 offsets, then the text); null if there is
/// none.
const char* utf8_defect(std::span<const std::byte> bytes, std::int64_t elements) noexcept {
  const std::size_t slots = bytes.size() / sizeof(std::int64_t);
  if (static_cast<std::uint64_t>(elements) >= slots)
    return "the offsets of a text value are cut off";
  const auto text =
      static_cast<std::int64_t>(bytes.size() - (static_cast<std::size_t>(elements) + 1) * 8);
  std::int64_t before = offset_at(bytes.data(), 0);
  if (before != 0) return "the offsets of a text value do not begin with 0";
  for (std::int64_t i = 1; i <= elements; ++i) {
    const auto next = offset_at(bytes.data(), i);
    if (next < before) return "the offsets of a text value fall";
    before = next;
  }
  return before == text ? nullptr : "the offsets of a text value do not end with its length";
}

}  // namespace

const char* value_defect(DType dtype, const Shape& shape,
                         std::span<const std::byte> bytes) noexcept {
  const std::int64_t elements = shape.elements();
  if (elements < 0) return "a value's shape is impossible";
  if (dtype == DType::Utf8) return utf8_defect(bytes, elements);
  const std::size_t size = element_size(dtype);
  if (bytes.size() % size != 0 || bytes.size() / size != static_cast<std::uint64_t>(elements))
    return "a value's length does not fit its type and shape";
  if (dtype == DType::Bool)
    for (const std::byte byte : bytes)
      if (byte > std::byte{1}) return "a bool is neither 0 nor 1";
  return nullptr;
}

}  // namespace cupel::trial_detail
