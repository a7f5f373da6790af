// URLs and percent-encoding, as S3's signatures and listings need them. Texts come from options,
// from profiles and from answers of servers, so a URL is taken apart by a strict reader: a host of
// letters, digits, dots and hyphens or an address, a port, no user, no blank, no control character.
// A text that is not such a URL gives nothing. The functions have no state and may run on any
// thread.

#include "url.h"

#include <algorithm>

#include "cupel/core/ascii.h"
#include "cupel/core/number_text.h"

namespace cupel::s3_detail {
namespace {

bool is_unreserved(char c) noexcept { return is_word(c) || c == '-' || c == '.' || c == '~'; }

bool is_visible(char c) noexcept { return c > ' ' && c < '\x7f'; }

/// Removes the last label of a host, and returns it: "c" of "a.b.c", which becomes "a.b".
std::string_view take_last_label(std::string_view& host) noexcept {
  const std::size_t dot = host.rfind('.');
  const std::string_view label = host.substr(dot + 1);
  host = dot == std::string_view::npos ? std::string_view() : host.substr(0, dot);
  return label;
}

bool is_name(std::string_view host) noexcept { return std::ranges::all_of(host, is_unreserved); }

bool is_address(std::string_view host) noexcept {
  return std::ranges::all_of(
      host, [](char c) { return hexadecimal_value(c) >= 0 || c == ':' || c == '.'; });
}

/// Splits "host:port" or "[address]:port" into the origin. Returns false for any other text.
bool read_authority(std::string_view text, Origin& origin) {
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return false;
    origin.host = text.substr(1, bracket - 1);
    if (!is_address(origin.host)) return false;
    end = bracket + 1 == text.size() ? std::string_view::npos : bracket + 1;
  } else {
    origin.host = text.substr(0, end);
    if (!is_name(origin.host)) return false;
  }
  if (origin.host.empty()) return false;
  if (end == std::string_view::npos) return true;
  if (text[end] != ':') return false;
  origin.port = parse_integer<decltype(origin.port)>(text.substr(end + 1)).value_or(0);
  return origin.port != 0;
}

}  // namespace

std::string percent_encode(std::string_view text, Slashes slashes) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || (c == '/' && slashes == Slashes::Keep))
      encoded += c;
    else
      append_percent_escape(encoded, c);
  }
  return encoded;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hexadecimal_value(text[i + 1]);
    const int low = hexadecimal_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string Origin::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) text += ":" + std::to_string(port);
  return text;
}

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  if (!std::ranges::all_of(text, is_visible)) return std::nullopt;
  if (text.starts_with("http://")) {
    url.origin.tls = false;
    url.origin.port = 80;
    text.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else {
    return std::nullopt;
  }
  text = text.substr(0, text.find('#'));
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  const std::string_view authority = text.substr(0, end);
  if (authority.find('@') != std::string_view::npos) return std::nullopt;
  if (!read_authority(authority, url.origin)) return std::nullopt;
  url.target = text.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, 1, '/');
  return url;
}

bool is_loopback(std::string_view host) noexcept {
  const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "::1" || (is_number && host.starts_with("127."));
}

bool is_s3_of_aws(std::string_view host) noexcept {
  constexpr std::string_view kDomain = ".amazonaws.com";
  if (host.ends_with(".cn")) host.remove_suffix(3);
  if (!host.ends_with(kDomain)) return false;
  host.remove_suffix(kDomain.size());
  // The rest ends in s3, s3-eu-west-1, s3.eu-west-1 or s3.dualstack.eu-west-1.
  const auto is_s3 = [](std::string_view label) {
    return label == "s3" || label.starts_with("s3-");
  };
  if (is_s3(take_last_label(host))) return true;
  std::string_view label = take_last_label(host);
  if (label == "dualstack") label = take_last_label(host);
  return is_s3(label);
}

}  // namespace cupel::s3_detail
