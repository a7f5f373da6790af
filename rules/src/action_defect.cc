#include "action_defect.h"

#include <algorithm>
#include <cstddef>

#include "cupel/core/ascii.h"
#include "url_parts.h"

namespace cupel::rules_detail {
namespace {

constexpr std::size_t kMostUrlBytes = 8192;
constexpr std::size_t kMostCommandBytes = 64U << 10U;  // one argument of a process holds 128 KiB
constexpr std::size_t kMostPathBytes = 4095;
constexpr std::size_t kMostPhoneDigits = 15;

}  // namespace

std::string url_defect(std::string_view url) {
  const UrlParts parts = split_url(url);
  if (!parts.is_http) return "must begin with http:// or https://";
  if (parts.host.empty()) return "must name a host";
  if (url.size() > kMostUrlBytes) return "must be at most 8192 bytes long";
  // A backslash is read as a slash by some, which moves where the host ends.
  const auto is_illegal = [](char c) { return c <= ' ' || c >= '\x7f' || c == '\\'; };
  if (std::ranges::any_of(url, is_illegal))
    return "must not hold blanks, backslashes or bytes beyond ASCII: write them as %20";
  return {};
}

std::string command_defect(std::string_view command) {
  if (command.find_first_not_of(" \t\r\n") == std::string_view::npos) return "must not be empty";
  if (command.find('\0') != std::string_view::npos) return "must not hold a NUL";
  if (command.size() > kMostCommandBytes) return "must be at most 64 KiB long";
  return {};
}

std::string mail_address_defect(std::string_view address) {
  constexpr const char* kLegal = "must be an address like ops@example.com, in lower case";
  const std::size_t at = address.find('@');
  const std::size_t dot = address.rfind('.');
  if (at == std::string_view::npos || dot == std::string_view::npos || dot < at) return kLegal;
  const std::string_view user = address.substr(0, at);
  const std::string_view domain = address.substr(at + 1, dot - at - 1);
  const std::string_view top = address.substr(dot + 1);
  const auto is_user = [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '.'; };
  const bool is_legal = !user.empty() && user.front() != '.' &&
                        std::ranges::all_of(user, is_user) && !domain.empty() &&
                        std::ranges::all_of(domain, is_word) && top.size() >= 2 &&
                        top.size() <= 3 && std::ranges::all_of(top, is_letter);
  return is_legal ? "" : kLegal;
}

std::string phone_number_defect(std::string_view number) {
  const bool is_legal = number.size() >= 2 && number.size() <= 1 + kMostPhoneDigits &&
                        number.front() == '+' && std::ranges::all_of(number.substr(1), is_digit);
  return is_legal ? "" : "must be + and 1 to 15 digits";
}

std::string path_defect(std::string_view path) {
  if (path.empty()) return "must not be empty";
  if (path.find('\0') != std::string_view::npos) return "must not hold a NUL";
  if (path.size() > kMostPathBytes) return "must be at most 4095 bytes long";
  return {};
}

}  // namespace cupel::rules_detail
