// The table variant looks up eight bytes at a time ("slicing by eight"): table k holds the CRC of a
// byte followed by k zero bytes.
//
// The instruction takes eight bytes per cycle but answers only three cycles later, so three
// neighbouring stretches of equal length run beside each other. A CRC is linear: crc(a b) is crc(a)
// carried over as many zero bytes as b is long, xor crc(b). "Carried over n zero bytes" is a 32 by
// 32 bit matrix, kept as four tables of 256 for each stretch length in use: a long one for
// throughput, a short one for what is left.

#include "cupel/core/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#include "crc32c_internal.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define CUPEL_CRC_TARGET __attribute__((target("sse4.2")))
#elif defined(__aarch64__) && defined(__linux__)
#if defined(__clang__)
#define CUPEL_CRC_TARGET __attribute__((target("crc")))
#else
#define CUPEL_CRC_TARGET __attribute__((target("+crc")))
#endif
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace cupel {
namespace core_detail {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

using Table = std::array<std::uint32_t, 256>;

constexpr std::array<Table, 8> make_slicing_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xffU];
    }
  return tables;
}

constexpr std::array<Table, 8> kSlicing = make_slicing_tables();

std::uint64_t load_word(const std::byte* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  const std::byte* next = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t crc = ~seed;
  for (; left >= 8; next += 8, left -= 8) {
    const std::uint64_t word = load_word(next) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kSlicing[7 - k][(word >> (8 * k)) & 0xffU];
  }
  for (; left > 0; ++next, --left)
    crc = (crc >> 8U) ^ kSlicing[0][(crc ^ static_cast<std::uint32_t>(*next)) & 0xffU];
  return ~crc;
}

#if defined(CUPEL_CRC_TARGET)

namespace {

constexpr std::size_t kLong = 4096;
constexpr std::size_t kShort = 256;

using Matrix = std::array<std::uint32_t, 32>;  // column i is what bit i becomes

constexpr std::uint32_t times(const Matrix& matrix, std::uint32_t vector) {
  std::uint32_t sum = 0;
  for (; vector != 0; vector &= vector - 1)
    sum ^= matrix[static_cast<std::size_t>(std::countr_zero(vector))];
  return sum;
}

/// Carries a CRC over a power of two of zero bytes.
class ZeroBytes {
 public:
  constexpr explicit ZeroBytes(std::size_t count) {
    Matrix matrix{kPolynomial};  // one zero bit, squared until it stands for `count` bytes
    for (std::size_t i = 1; i < 32; ++i) matrix[i] = 1U << (i - 1);
    for (std::size_t bits = 1; bits < 8 * count; bits *= 2) {
      Matrix square{};
      for (std::size_t i = 0; i < 32; ++i) square[i] = times(matrix, matrix[i]);
      matrix = square;
    }
    for (std::size_t k = 0; k < 4; ++k)
      for (std::uint32_t byte = 1; byte < 256; ++byte) {
        const auto lowest = static_cast<std::size_t>(std::countr_zero(byte));
        tables_[k][byte] = tables_[k][byte & (byte - 1)] ^ matrix[8 * k + lowest];
      }
  }

  constexpr std::uint32_t carry(std::uint32_t crc) const noexcept {
    return tables_[0][crc & 0xffU] ^ tables_[1][(crc >> 8U) & 0xffU] ^
           tables_[2][(crc >> 16U) & 0xffU] ^ tables_[3][crc >> 24U];
  }

 private:
  std::array<Table, 4> tables_{};
};

constexpr ZeroBytes kLongZeros(kLong);
constexpr ZeroBytes kShortZeros(kShort);

#if defined(__x86_64__)
using Register =
    std::uint64_t;  // the instruction's, so that nothing is converted between two steps
CUPEL_CRC_TARGET inline Register step8(Register crc, std::uint64_t word) {
  return _mm_crc32_u64(crc, word);
}
CUPEL_CRC_TARGET inline Register step1(Register crc, std::byte byte) {
  return _mm_crc32_u8(static_cast<std::uint32_t>(crc), static_cast<unsigned char>(byte));
}
#else
using Register = std::uint32_t;
CUPEL_CRC_TARGET inline Register step8(Register crc, std::uint64_t word) {
  return __crc32cd(crc, word);
}
CUPEL_CRC_TARGET inline Register step1(Register crc, std::byte byte) {
  return __crc32cb(crc, static_cast<std::uint8_t>(byte));
}
#endif

/// Takes three stretches of kLength as often as they fit, and moves `next` and `left` behind them.
template <std::size_t kLength>
CUPEL_CRC_TARGET inline Register three_streams(Register crc, const std::byte*& next,
                                               std::size_t& left, const ZeroBytes& zeros) {
  for (; left >= 3 * kLength; next += 3 * kLength, left -= 3 * kLength) {
    Register second = 0;
    Register third = 0;
    for (std::size_t i = 0; i < kLength; i += 8) {
      crc = step8(crc, load_word(next + i));
      second = step8(second, load_word(next + kLength + i));
      third = step8(third, load_word(next + 2 * kLength + i));
    }
    crc = zeros.carry(static_cast<std::uint32_t>(crc)) ^ second;
    crc = zeros.carry(static_cast<std::uint32_t>(crc)) ^ third;
  }
  return crc;
}

}  // namespace

bool has_crc32c_instruction() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  constexpr unsigned long kHasCrc = 1UL << 7U;  // HWCAP_CRC32
  return (getauxval(AT_HWCAP) & kHasCrc) != 0;
#endif
}

CUPEL_CRC_TARGET std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes,
                                                     std::uint32_t seed) noexcept {
  const std::byte* next = bytes.data();
  std::size_t left = bytes.size();
  Register crc = static_cast<std::uint32_t>(~seed);
  crc = three_streams<kLong>(crc, next, left, kLongZeros);
  crc = three_streams<kShort>(crc, next, left, kShortZeros);
  for (; left >= 8; next += 8, left -= 8) crc = step8(crc, load_word(next));
  for (; left > 0; ++next, --left) crc = step1(crc, *next);
  return ~static_cast<std::uint32_t>(crc);
}

#else

bool has_crc32c_instruction() noexcept { return false; }

std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  return crc32c_by_table(bytes, seed);
}

#endif

}  // namespace core_detail

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  static const bool fast = core_detail::has_crc32c_instruction();
  return fast ? core_detail::crc32c_by_instruction(bytes, seed)
              : core_detail::crc32c_by_table(bytes, seed);
}

}  // namespace cupel
