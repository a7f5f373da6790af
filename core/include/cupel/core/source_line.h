#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel {

/// A line of a text, from 1 on, without the blanks around it and cut behind 200 bytes, where a
/// character ends. Empty if the text has no such line. Lines end with a line feed.
std::string source_line(std::string_view text, std::int64_t line);

}  // namespace cupel
