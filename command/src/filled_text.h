#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel::command_detail {

/// Breaks paragraphs, which have an empty line between them, into lines of at most `width`
/// characters. A longer word has a line of its own. Lines that begin with four blanks stay as they
/// are. No other line begins with a mark of a list, a heading or a quotation in Markdown.
std::string filled(std::string_view text, std::size_t width);

}  // namespace cupel::command_detail
