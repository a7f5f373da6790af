#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::s3_detail {

enum class Slashes { Keep, Encode };

/// Percent-encodes everything but letters, digits and "-._~", as signatures require.
std::string percent_encode(std::string_view text, Slashes slashes);

/// Decodes a text of a listing, where '+' is a blank. Returns nothing if a '%' is not followed by
/// two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

/// A server: scheme, host and port.
struct Origin {
  bool tls = true;
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 443;

  /// Returns the text for the header Host, without a port that the scheme implies.
  std::string authority() const;
  bool operator==(const Origin&) const = default;
};

/// An http or https URL; `target` is its path and query, "/" at least.
struct Url {
  Origin origin;
  std::string target;
};

/// Returns nothing for a text that is no such URL, names a user, or has blanks or control
/// characters.
std::optional<Url> parse_url(std::string_view text);

bool is_loopback(std::string_view host) noexcept;

/// Whether S3 itself answers there: "bucket.s3.eu-west-1.amazonaws.com". Below AWS's domain there
/// are names that anybody can have.
bool is_s3_of_aws(std::string_view host) noexcept;

}  // namespace cupel::s3_detail
