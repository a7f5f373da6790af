#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel {

/// Paragraphs, with an empty line between them, in lines of at most `width` characters; a longer
/// word has a line of its own. Lines that begin with four blanks stay as they are. No other line
/// begins with what Markdown would take for a list, a heading or a quotation.
std::string filled(std::string_view text, std::size_t width);

}  // namespace cupel
