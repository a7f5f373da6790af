#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel {

/// Why files that call their format `version` cannot be read; nothing when they can.
std::optional<std::string> format_version_problem(std::string_view version);

}  // namespace cupel
