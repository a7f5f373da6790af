#pragma once

#include <cstddef>
#include <string_view>

namespace cupel {

/// Columns of a terminal that UTF-8 text takes: two for wide characters and emoji, none for what
/// combines with the character before. A byte that is no UTF-8 counts as one.
std::size_t text_width(std::string_view text) noexcept;

}  // namespace cupel
