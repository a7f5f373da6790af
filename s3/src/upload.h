#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "session.h"

namespace cupel::s3_detail {

/// The metadata of each object that cupel writes: the CRC-32C of its bytes in eight hexadecimal
/// digits, and their number. Reading compares both with the answer.
inline constexpr std::string_view kChecksumHeader = "x-amz-meta-cupel-crc32c";
inline constexpr std::string_view kSizeHeader = "x-amz-meta-cupel-size";
std::string checksum_text(std::span<const std::byte> bytes);

/// Puts one object: in one request, or in parts where it is larger than options().largest_put. An
/// upload in parts that fails is aborted, so that the service does not keep its parts.
void upload(Session& session, std::string_view key, std::span<const std::byte> bytes);

}  // namespace cupel::s3_detail
