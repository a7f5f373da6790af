// Reads the frame of an Arrow message: marker, length, and of the metadata the kind, the length of
// the body and whether it is compressed. A message that the bytes do not hold entirely is
// Incomplete; bytes that cannot begin a message are Malformed. The checksum of a message is text in
// its metadata and is computed with its digits as zeros. Pure functions for any thread; nothing
// throws.

#include "ipc_message.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cupel/core/ascii.h"
#include "cupel/core/crc32c.h"
#include "cupel/core/number_text.h"
#include "flat_table.h"

namespace cupel::format_detail {
namespace {

constexpr std::uint32_t kContinuation = 0xffffffff;
constexpr std::size_t kAlignment = 8;

// Field numbers of Arrow's Message.fbs.
namespace message {
constexpr std::size_t kHeaderType = 1;
constexpr std::size_t kHeader = 2;
constexpr std::size_t kBodyLength = 3;
}  // namespace message
namespace dictionary_batch {
constexpr std::size_t kData = 1;
}
namespace record_batch {
constexpr std::size_t kCompression = 3;
}

FrameResult incomplete(const char* problem) noexcept {
  return {FrameKind::Incomplete, {}, problem};
}
FrameResult malformed(const char* problem) noexcept { return {FrameKind::Malformed, {}, problem}; }

}  // namespace

FrameResult read_frame(std::span<const std::byte> bytes) noexcept {
  return read_frame(bytes, bytes.size());
}

FrameResult read_frame(std::span<const std::byte> bytes, std::uint64_t available) noexcept {
  std::array<std::uint32_t, 2> header{};
  if (bytes.size() < kFrameHeader) return incomplete("a message's length is cut off");
  std::memcpy(header.data(), bytes.data(), kFrameHeader);
  const auto [continuation, metadata_length] = header;
  if (continuation != kContinuation) return malformed("no message begins here");
  if (metadata_length == 0) return {FrameKind::EndOfStream};
  if (metadata_length % kAlignment != 0)
    return malformed("a message's length is not a multiple of 8");
  if (metadata_length > bytes.size() - kFrameHeader)
    return incomplete("a message's metadata are cut off");

  MessageFrame frame{};
  frame.metadata_begin = kFrameHeader;
  frame.metadata_length = metadata_length;
  frame.body_begin = kFrameHeader + metadata_length;
  const auto root = FlatTable::root(bytes.subspan(kFrameHeader, metadata_length));
  if (!root) return malformed("a message's metadata are not a flatbuffer");
  const auto type = root->scalar<std::uint8_t>(message::kHeaderType);
  if (!type || *type < 1 || *type > 3) return malformed("a message of an unknown kind");
  frame.type = static_cast<MessageType>(*type);
  const std::int64_t body_length = root->scalar<std::int64_t>(message::kBodyLength).value_or(0);
  if (body_length < 0 || body_length % static_cast<std::int64_t>(kAlignment) != 0) {
    return malformed("a message's body has an impossible length");
  }
  if (static_cast<std::uint64_t>(body_length) > available - frame.body_begin) {
    return incomplete("a message's body is cut off");
  }
  frame.body_length = static_cast<std::size_t>(body_length);

  auto batch = root->table(message::kHeader);
  if (!batch) return malformed("a message has no header");
  if (frame.type == MessageType::DictionaryBatch) batch = batch->table(dictionary_batch::kData);
  frame.compressed =
      frame.type != MessageType::Schema && batch && batch->has(record_batch::kCompression);
  return {FrameKind::Message, frame};
}

namespace {

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::optional<std::size_t> find_checksum_digits(std::span<const std::byte> metadata) noexcept {
  const std::string_view text = as_text(metadata);
  const std::size_t tag = text.find(kChecksumTag);
  if (tag == std::string_view::npos || text.find(kChecksumTag, tag + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t digits = tag + kChecksumTag.size();
  if (text.size() - digits < kChecksumDigits) return std::nullopt;
  return digits;
}

int count_checksum_tags(std::span<const std::byte> bytes) noexcept {
  const std::string_view text = as_text(bytes);
  const std::size_t first = text.find(kChecksumTag);
  if (first == std::string_view::npos) return 0;
  return text.find(kChecksumTag, first + 1) == std::string_view::npos ? 1 : 2;
}

std::uint32_t checksum_with_blank_digits(std::span<const std::byte> bytes, std::size_t digits,
                                         std::uint32_t seed) noexcept {
  static constexpr std::string_view kBlank = "00000000";
  std::uint32_t crc = crc32c(bytes.first(digits), seed);
  crc = crc32c(std::as_bytes(std::span(kBlank)), crc);
  return crc32c(bytes.subspan(digits + kChecksumDigits), crc);
}

std::uint32_t patch_checksum(std::span<std::byte> bytes, std::size_t digits,
                             std::uint32_t seed) noexcept {
  const std::uint32_t crc = checksum_with_blank_digits(bytes, digits, seed);
  for (std::size_t i = 0; i < kChecksumDigits; ++i) {
    bytes[digits + i] = static_cast<std::byte>(hexadecimal_digit(crc >> (28 - 4 * i) & 0xfU));
  }
  return crc;
}

std::optional<std::uint32_t> read_checksum(std::span<const std::byte> bytes,
                                           std::size_t digits) noexcept {
  const std::string_view text = as_text(bytes.subspan(digits, kChecksumDigits));
  if (std::ranges::any_of(text, is_upper)) return std::nullopt;
  return parse_integer<std::uint32_t>(text, 16);
}

}  // namespace cupel::format_detail
