#include "ipc_message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "cupel/core/crc32c.h"

namespace cupel {
namespace {

constexpr std::uint32_t kContinuation = 0xffffffff;
constexpr std::size_t kFrameHeader = 8;  // continuation marker and metadata length
constexpr std::size_t kAlignment = 8;

// A flatbuffer of which a few scalar fields are wanted. Every read is checked; a read outside gives
// nothing.
class FlatTable {
 public:
  static std::optional<FlatTable> root(std::span<const std::byte> buffer) noexcept {
    const auto position = load<std::uint32_t>(buffer, 0);
    if (!position) return std::nullopt;
    return at(buffer, *position);
  }

  template <class T>
  std::optional<T> scalar(std::size_t field) const noexcept {
    const auto position = field_position(field);
    if (!position) return std::nullopt;
    return load<T>(buffer_, *position);
  }

  bool has(std::size_t field) const noexcept { return field_position(field).has_value(); }

  std::optional<FlatTable> table(std::size_t field) const noexcept {
    const auto position = field_position(field);
    const auto distance = position ? load<std::uint32_t>(buffer_, *position) : std::nullopt;
    if (!distance) return std::nullopt;
    return at(buffer_, *position + *distance);
  }

 private:
  FlatTable(std::span<const std::byte> buffer, std::size_t table, std::size_t vtable,
            std::uint16_t vtable_size) noexcept
      : buffer_(buffer), table_(table), vtable_(vtable), vtable_size_(vtable_size) {}

  template <class T>
  static std::optional<T> load(std::span<const std::byte> buffer, std::size_t position) noexcept {
    if (position > buffer.size() || buffer.size() - position < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, buffer.data() + position, sizeof(T));
    return value;
  }

  static std::optional<FlatTable> at(std::span<const std::byte> buffer,
                                     std::size_t table) noexcept {
    const auto distance = load<std::int32_t>(buffer, table);
    if (!distance) return std::nullopt;
    const std::int64_t vtable = static_cast<std::int64_t>(table) - *distance;
    if (vtable < 0) return std::nullopt;
    const auto size = load<std::uint16_t>(buffer, static_cast<std::size_t>(vtable));
    if (!size || *size < 4) return std::nullopt;
    return FlatTable(buffer, table, static_cast<std::size_t>(vtable), *size);
  }

  std::optional<std::size_t> field_position(std::size_t field) const noexcept {
    const std::size_t entry = 4 + 2 * field;
    if (entry + 2 > vtable_size_) return std::nullopt;
    const auto distance = load<std::uint16_t>(buffer_, vtable_ + entry);
    if (!distance || *distance == 0) return std::nullopt;
    return table_ + *distance;
  }

  std::span<const std::byte> buffer_;
  std::size_t table_;
  std::size_t vtable_;
  std::uint16_t vtable_size_;
};

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
  if (static_cast<std::uint64_t>(body_length) > bytes.size() - frame.body_begin) {
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
  static constexpr std::string_view kHexadecimal = "0123456789abcdef";
  for (std::size_t i = 0; i < kChecksumDigits; ++i) {
    bytes[digits + i] = static_cast<std::byte>(kHexadecimal[crc >> (28 - 4 * i) & 0xfU]);
  }
  return crc;
}

std::optional<std::uint32_t> read_checksum(std::span<const std::byte> bytes,
                                           std::size_t digits) noexcept {
  const std::string_view text = as_text(bytes.subspan(digits, kChecksumDigits));
  if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; }))
    return std::nullopt;
  std::uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return crc;
}

}  // namespace cupel
