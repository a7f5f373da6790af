#pragma once

#include <charconv>
#include <cstring>
#include <system_error>

namespace cupel {

/// The number that an argument is; 0 where it is none, or less than 1.
inline int number_of(const char* text) {
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return stop == end && error == std::errc() && number >= 1 ? number : 0;
}

}  // namespace cupel
