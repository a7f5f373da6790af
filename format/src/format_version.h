#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::format_detail {

/// Why files that call their format `version` cannot be read; nothing when they can.
std::optional<std::string> format_version_problem(std::string_view version);

/// Whether files that call their format `version`, which can be read, were written by this minor
/// version or a newer one.
bool is_version_from(std::string_view version, int minor) noexcept;

/// Whether they may hold more than this code knows.
bool is_newer_minor_version(std::string_view version) noexcept;

}  // namespace cupel::format_detail
