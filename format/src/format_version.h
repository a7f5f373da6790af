#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::format_detail {

/// Returns why files of the format `version` cannot be read; nothing if they can.
std::optional<std::string> format_version_problem(std::string_view version);

/// Returns whether files of the format `version`, which can be read, are of the minor version
/// `minor` or a newer one.
bool is_version_from(std::string_view version, int minor) noexcept;

/// Returns whether such files may hold more than this code knows.
bool is_newer_minor_version(std::string_view version) noexcept;

}  // namespace cupel::format_detail
