#pragma once

#include <cstddef>
#include <string_view>

#include "cupel/core/ascii.h"

namespace cupel::rules_detail {

/// Where the parts of an http URL are: "https://", "user:password@", "host:port", "/path",
/// "?query#fragment".
struct UrlParts {
  bool is_http = false;
  std::string_view scheme = {};
  std::string_view user = {};
  std::string_view host = {};
  std::string_view path = {};
  std::string_view rest = {};
};

inline UrlParts split_url(std::string_view url) {
  UrlParts parts;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return parts;
  const std::string_view scheme = url.substr(0, colon);
  parts.is_http = same_but_for_case(scheme, "http") || same_but_for_case(scheme, "https");
  parts.scheme = url.substr(0, colon + 3);
  url.remove_prefix(parts.scheme.size());
  const auto take = [&url](std::size_t size) {
    const std::string_view taken = url.substr(0, size);
    url.remove_prefix(taken.size());
    return taken;
  };
  // The last @ before the path ends the user's part: a password may hold others.
  std::string_view authority = take(url.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    parts.user = authority.substr(0, at + 1);
    authority.remove_prefix(at + 1);
  }
  parts.host = authority;
  parts.path = take(url.find_first_of("?#"));
  parts.rest = url;
  return parts;
}

}  // namespace cupel::rules_detail
