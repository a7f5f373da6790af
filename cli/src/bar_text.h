#pragma once

#include <cstddef>
#include <string>

namespace cupel {

/// A bar of eighths of a character: `share` of `columns`, from 0 to 1, without blanks behind it.
std::string bar_text(double share, std::size_t columns);

}  // namespace cupel
