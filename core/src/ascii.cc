#include "cupel/core/ascii.h"

#include <cstddef>
#include <iterator>

namespace cupel {

std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::ranges::transform(text, std::back_inserter(result), to_lower);
  return result;
}

std::string upper_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::ranges::transform(text, std::back_inserter(result), to_upper);
  return result;
}

std::string folded_name(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c != '_' && c != '-') text += to_lower(c);
  return text;
}

std::string snake_case(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    // A capital begins a word behind a small letter, and before one; the last one of a name ends a
    // word ("NaN").
    const bool may_begin = i > 0 && i + 1 < name.size() && is_upper(name[i]) && name[i - 1] != '_';
    if (may_begin && (!is_upper(name[i - 1]) || !is_upper(name[i + 1]))) text += '_';
    text += to_lower(name[i]);
  }
  return text;
}

void append_percent_escape(std::string& text, char byte) {
  const auto number = static_cast<unsigned char>(byte);
  text += '%';
  text += to_upper(hexadecimal_digit(number >> 4U));
  text += to_upper(hexadecimal_digit(number & 15U));
}

}  // namespace cupel
