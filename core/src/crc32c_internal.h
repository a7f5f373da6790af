#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cupel::core_detail {

/// crc32c() by tables alone, eight bytes at a time: what processors without the instruction run.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed) noexcept;

/// Whether this processor has the instruction that crc32c_by_instruction() needs.
bool has_crc32c_instruction() noexcept;

/// crc32c() by the processor's instruction; call it only where there is one.
std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, std::uint32_t seed) noexcept;

}  // namespace cupel::core_detail
