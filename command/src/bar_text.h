#pragma once

#include <cstddef>
#include <string>

namespace cupel::command_detail {

/// Returns a bar of eighths of a character, which takes `share` (0 to 1) of `columns`. No blanks
/// follow the bar.
std::string bar_text(double share, std::size_t columns);

}  // namespace cupel::command_detail
