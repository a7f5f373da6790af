#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cupel {

/// CRC-32C (Castagnoli, reflected, initial and final xor of all ones) of `bytes`; "123456789" gives
/// e3069283.
///
/// `seed` is the CRC of what came before, so that crc32c(b, crc32c(a)) is the CRC of a followed by
/// b. Uses the processor's instruction where it has one (three streams at once), else a table.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

}  // namespace cupel
