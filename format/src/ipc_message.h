#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cupel::format_detail {

// The parts of the Arrow IPC file layout that cupel reads by itself: the begin, end and kind of a
// message, and its checksum. Everything here is bounds-checked and allocates nothing.

inline constexpr std::string_view kArrowMagic = "ARROW1";
inline constexpr std::size_t kArrowHeaderBytes = 8;  // the magic, padded
inline constexpr std::size_t kFrameHeader = 8;       // continuation marker and metadata length

enum class MessageType : std::uint8_t { Schema = 1, DictionaryBatch = 2, RecordBatch = 3 };

/// An encapsulated message at the front of some bytes.
struct MessageFrame {
  MessageType type;
  bool compressed = false;
  std::size_t metadata_begin = 0;  // of the flatbuffer, from the frame's first byte
  std::size_t metadata_length = 0;
  std::size_t body_begin = 0;
  std::size_t body_length = 0;
  std::size_t size() const noexcept { return body_begin + body_length; }
};

enum class FrameKind { Message, EndOfStream, Incomplete, Malformed };

struct FrameResult {
  FrameKind kind;
  MessageFrame frame{};      // Message only
  const char* problem = "";  // Incomplete and Malformed
};

/// Reads the frame at the front of `bytes`; a message counts as incomplete until all of it is
/// there.
FrameResult read_frame(std::span<const std::byte> bytes) noexcept;

/// Does the same with only the front of `available` bytes: at least the message's length and
/// metadata, or as many bytes as there are.
FrameResult read_frame(std::span<const std::byte> bytes, std::uint64_t available) noexcept;

/// Returns the place of the eight checksum digits in a message or footer: behind the only
/// "cupel.crc32c=" in `metadata`; nothing where there is none or more than one.
std::optional<std::size_t> find_checksum_digits(std::span<const std::byte> metadata) noexcept;

/// Counts a checksum's tags in `bytes`, up to two.
int count_checksum_tags(std::span<const std::byte> bytes) noexcept;

inline constexpr std::string_view kChecksumKey = "cupel.crc";
inline constexpr std::string_view kChecksumTag = "cupel.crc32c=";
inline constexpr std::string_view kChecksumPlaceholder = "cupel.crc32c=00000000";
inline constexpr std::size_t kChecksumDigits = 8;

/// Returns the CRC-32C of `bytes` with the digits at `digits` taken as zeros, seeded with the CRC
/// of the bytes before.
std::uint32_t checksum_with_blank_digits(std::span<const std::byte> bytes, std::size_t digits,
                                         std::uint32_t seed) noexcept;

/// Computes that checksum and writes it into the digits; returns it.
std::uint32_t patch_checksum(std::span<std::byte> bytes, std::size_t digits,
                             std::uint32_t seed) noexcept;

/// Returns the checksum that the digits spell; nothing if they are not lower-case hexadecimal.
std::optional<std::uint32_t> read_checksum(std::span<const std::byte> bytes,
                                           std::size_t digits) noexcept;

}  // namespace cupel::format_detail
