#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// `text` with control characters (C0, DEL, and C1 as UTF-8) as \x1b and the like, so that no name
/// of a tensor moves a terminal's cursor.
std::string printable(std::string_view text);

}  // namespace cupel
