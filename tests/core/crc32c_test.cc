#include "cupel/core/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "../../core/src/crc32c_internal.h"

namespace cupel {
namespace {

using Bytes = std::vector<std::byte>;
using Variant = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t);

std::uint32_t bit_by_bit(std::span<const std::byte> bytes, std::uint32_t seed) {
  std::uint32_t crc = ~seed;
  for (const std::byte each : bytes) {
    crc ^= static_cast<std::uint32_t>(each);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

Bytes noise(std::size_t size) {
  Bytes bytes(size);
  std::uint32_t state = 12345;
  for (std::byte& each : bytes)
    each = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24U);
  return bytes;
}

class Crc32c : public ::testing::TestWithParam<Variant> {
 protected:
  static std::uint32_t crc(std::string_view text) {
    return GetParam()(std::as_bytes(std::span(text)), 0);
  }
};

// Those that this processor can run.
std::vector<Variant> variants() {
  std::vector<Variant> all = {crc32c, core_detail::crc32c_by_table};
  if (core_detail::has_crc32c_instruction()) all.push_back(core_detail::crc32c_by_instruction);
  return all;
}

constexpr const char* kVariantNames[] = {"dispatched", "table", "instruction"};

INSTANTIATE_TEST_SUITE_P(Variants, Crc32c, ::testing::ValuesIn(variants()),
                         [](const auto& row) { return kVariantNames[row.index]; });

TEST_P(Crc32c, known_vectors) {
  EXPECT_EQ(crc(""), 0U);
  EXPECT_EQ(crc("123456789"), 0xe3069283U);
  EXPECT_EQ(crc(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc(std::string(32, '\xff')), 0x62a8ab43U);
  std::string rising(32, '\0');
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<char>(i);
  EXPECT_EQ(crc(rising), 0x46dd794eU);
  std::ranges::reverse(rising);
  EXPECT_EQ(crc(rising), 0x113fdb5cU);
}

TEST_P(Crc32c, small_lengths_at_every_alignment) {
  const Bytes bytes = noise(1700);
  for (std::size_t start = 0; start < 16; ++start)
    for (std::size_t size = 0; size <= 1600; size = size < 300 ? size + 1 : size + 37) {
      const auto part = std::span(bytes).subspan(start, size);
      ASSERT_EQ(GetParam()(part, 0), bit_by_bit(part, 0)) << start << ' ' << size;
    }
}

TEST_P(Crc32c, lengths_about_the_stretches_of_the_three_streams) {
  const Bytes bytes = noise(40'000);
  for (const std::size_t middle : {768U, 1536U, 12'288U, 13'056U, 24'576U, 36'864U})
    for (std::size_t size = middle - 9; size <= middle + 9; ++size) {
      const auto part = std::span(bytes).subspan(3, size);
      ASSERT_EQ(GetParam()(part, 7), bit_by_bit(part, 7)) << size;
    }
}

TEST_P(Crc32c, the_seed_carries_on_from_what_came_before) {
  const Bytes bytes = noise(15'000);
  const auto all = std::span(bytes);
  for (const std::size_t cut : {0U, 1U, 7U, 800U, 14'999U})
    EXPECT_EQ(GetParam()(all.subspan(cut), GetParam()(all.first(cut), 0)), bit_by_bit(all, 0));
}

TEST_P(Crc32c, every_flipped_bit_shows) {
  Bytes bytes = noise(64);
  const std::uint32_t intact = GetParam()(bytes, 0);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(GetParam()(bytes, 0), intact);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace cupel
