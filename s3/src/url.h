#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::s3 {

enum class Slashes { Keep, Encode };

/// Percent-encodes everything but letters, digits and "-._~", as signatures want it.
std::string percent_encode(std::string_view text, Slashes slashes);

/// Reads what listings encode, where '+' is a blank; nothing if a '%' is not followed by two
/// hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

/// Who answers: scheme, host and port.
struct Origin {
  bool tls = true;
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 443;

  /// As in the header Host: without a port that the scheme implies.
  std::string authority() const;
  bool operator==(const Origin&) const = default;
};

/// An http or https URL; `target` is its path and query, "/" at least.
struct Url {
  Origin origin;
  std::string target;
};

/// Nothing if it is no such URL, names a user, or holds blanks or control characters.
std::optional<Url> parse_url(std::string_view text);

bool is_loopback(std::string_view host) noexcept;

/// Whether S3 itself answers there: "bucket.s3.eu-west-1.amazonaws.com". Below AWS's domain there
/// are names that anybody can have.
bool is_s3_of_aws(std::string_view host) noexcept;

}  // namespace cupel::s3
