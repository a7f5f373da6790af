#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel::command_detail {

/// Replaces each `what` in `text`; replacements are not searched again.
inline void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace cupel::command_detail
