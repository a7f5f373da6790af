#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace cupel {

// The file that a hook's configuration is read from when the caller gives `path`.
std::string configuration_path(const std::string& path);

// The file's text. Throws UsageError when it cannot be read, is no regular file or is too long.
std::string read_configuration_text(const std::string& path);

// Throws UsageError naming `source`, and line and column of text that is no JSON.
nlohmann::json parse_configuration_text(std::string_view text, std::string_view source);

// A path as messages show it: control characters are escaped.
std::string shown_path(std::string_view path);

}  // namespace cupel
