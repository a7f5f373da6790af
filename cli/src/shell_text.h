#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// The text as a shell takes it for one word, quoted where it has to be. A text that is not
/// printable() is quoted as $'…', which bash, zsh and ksh read.
std::string quoted_for_shell(std::string_view text);

}  // namespace cupel
