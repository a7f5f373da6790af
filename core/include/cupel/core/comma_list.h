#pragma once

#include <string_view>
#include <vector>

namespace cupel {

/// The text without the blanks (spaces, tabs and line ends) around it.
std::string_view trimmed(std::string_view text) noexcept;

/// What stands between the commas of a text, each trimmed, empty ones too: one more than there are
/// commas. Views into the text.
std::vector<std::string_view> comma_list(std::string_view text);

}  // namespace cupel
