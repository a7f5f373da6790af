#pragma once

#include <cstddef>
#include <string_view>

namespace cupel::command_detail {

/// Returns the columns of a terminal that UTF-8 text takes: two for wide characters and emoji, none
/// for marks that combine with the character before. A byte that is no UTF-8 counts as one.
std::size_t text_width(std::string_view text) noexcept;

}  // namespace cupel::command_detail
