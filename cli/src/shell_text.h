#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// The text as a shell takes it for one word, quoted where it has to be.
std::string quoted_for_shell(std::string_view text);

}  // namespace cupel
