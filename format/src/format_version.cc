#include "format_version.h"

#include <bit>

#include "cupel/core/number_text.h"
#include "cupel/format/layout.h"

namespace cupel::format_detail {

static_assert(std::endian::native == std::endian::little,
              "cupel's files are little-endian, and so must be the host");

std::optional<std::string> format_version_problem(std::string_view version) {
  const std::size_t point = version.find('.');
  const auto major = parse_integer<int>(version.substr(0, point));
  if (point == std::string_view::npos || !major || *major < 1) {
    return "the format version is not one: \"" + std::string(version.substr(0, 32)) + '"';
  }
  if (*major > kFormatMajor) {
    return "written by a newer cupel: format " + std::string(version.substr(0, 32)) +
           ", this one reads up to " + std::string(kFormatVersion);
  }
  return std::nullopt;
}

namespace {

int minor_of(std::string_view text) noexcept {
  return parse_integer<int>(text.substr(text.find('.') + 1)).value_or(0);
}

}  // namespace

bool is_version_from(std::string_view version, int minor) noexcept {
  return minor_of(version) >= minor;
}

bool is_newer_minor_version(std::string_view version) noexcept {
  return minor_of(version) > minor_of(kFormatVersion);
}

}  // namespace cupel::format_detail
