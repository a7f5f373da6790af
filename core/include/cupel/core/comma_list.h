#pragma once

#include <string_view>
#include <vector>

namespace cupel {

/// The text without the blanks (spaces, tabs and line ends) around it.
std::string_view trimmed(std::string_view text) noexcept;

/// The items between the commas of a text, each trimmed, also empty items: one more than there are
/// commas. The items are views into the text.
std::vector<std::string_view> comma_list(std::string_view text);

}  // namespace cupel
