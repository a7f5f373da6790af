#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace cupel {

/// Columns of a terminal that UTF-8 text takes, every character counted as one.
inline std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

}  // namespace cupel
