#pragma once

#include <string>
#include <string_view>

namespace cupel::command_detail {

/// Returns the text as one word of a shell, quoted where that is necessary. A text with characters
/// that printable() escapes is quoted as $'…', which bash, zsh and ksh read.
std::string quoted_for_shell(std::string_view text);

}  // namespace cupel::command_detail
