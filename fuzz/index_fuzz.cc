// Index files: any bytes, and the same bytes with their checksums made right, so that what lies
// behind the checksums is reached too.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/index_salvage.h"

namespace {

using namespace cupel;

constexpr std::string_view kTag = "cupel.crc32c=";
constexpr std::string_view kBlank = "00000000";

void read(std::span<const std::uint8_t> bytes) {
  auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  constexpr const char* kKey = "index/0000-000000000/000000000000_worker_0.arrow";
  const SalvagedIndex salvaged = salvage_index(kKey, buffer);
  std::vector<SalvagedRows> parts;
  for (const IndexBatch& batch : salvaged.batches) {
    parts.push_back({&batch, {}});
    parts.back().values.resize(batch.rows);
  }
  if (!parts.empty()) static_cast<void>(seal_salvaged(parts, 0, std::nullopt));
  IndexReader reader(kKey);
  std::size_t seen = 0;
  try {
    reader.read(buffer, [&](const IndexBatch& batch) {
      for (std::size_t row = 0; row < batch.rows; ++row) {
        seen += batch.tensor(row).size() + static_cast<std::size_t>(batch.dtype(row));
        if (batch.shape_begin.has(row)) {
          for (auto i = batch.shape_begin[row]; i < batch.shape_end[row]; ++i)
            seen += batch.shape_extents[i] != 0 ? 1U : 0U;
        }
        if (batch.inline_begin.has(row)) {
          for (auto i = batch.inline_begin[row]; i < batch.inline_end[row]; ++i)
            seen += static_cast<std::size_t>(batch.inline_bytes[i]);
        }
      }
    });
  } catch (const FormatError&) {
  }
  if (seen == SIZE_MAX) __builtin_trap();  // keeps the reads
}

// Where the message that holds the tag begins: the last continuation marker at a multiple of 8
// before it.
std::size_t message_begin(std::span<const std::uint8_t> bytes, std::size_t tag) {
  static constexpr std::uint32_t kMarker = 0xffffffff;
  for (std::size_t at = tag / 8 * 8; at > 0; at -= 8) {
    if (std::memcmp(bytes.data() + at, &kMarker, sizeof kMarker) == 0) return at;
  }
  return 0;
}

std::vector<std::uint8_t> with_right_checksums(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> result(bytes.begin(), bytes.end());
  std::vector<std::size_t> digits, begins;
  const std::string_view text(reinterpret_cast<const char*>(result.data()), result.size());
  for (std::size_t tag = text.find(kTag); tag != std::string_view::npos;
       tag = text.find(kTag, tag + 1)) {
    if (tag + kTag.size() + kBlank.size() > result.size()) break;
    digits.push_back(tag + kTag.size());
    begins.push_back(message_begin(bytes, tag));
  }
  const auto part = [&](std::size_t begin, std::size_t end) {
    return std::as_bytes(std::span(result).subspan(begin, end - begin));
  };
  std::uint32_t crc = begins.empty() ? 0 : crc32c(part(0, begins[0]));
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : result.size();
    if (begins[i] >= end || digits[i] + kBlank.size() > end) break;
    std::memcpy(result.data() + digits[i], kBlank.data(), kBlank.size());
    crc = crc32c(part(begins[i], end), crc);
    for (std::size_t k = 0; k < kBlank.size(); ++k) {
      result[digits[i] + k] =
          static_cast<std::uint8_t>("0123456789abcdef"[crc >> (28 - 4 * k) & 0xfU]);
    }
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  read(bytes);
  read(with_right_checksums(bytes));
  return 0;
}
