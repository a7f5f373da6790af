#pragma once

#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cupel_foreign {

/// The lines that a program prints on both streams. A failure of the test if the program fails.
inline std::vector<std::string> output_of(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell");
  std::string text;
  for (int c = ::fgetc(pipe); c != EOF; c = ::fgetc(pipe)) text += static_cast<char>(c);
  if (::pclose(pipe) != 0) ADD_FAILURE() << command << " failed:\n" << text;
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// The command that runs node, which finds the Arrow readers.
inline std::string node(const std::string& arguments) {
  return "NODE_PATH='" CUPEL_ARROW_READERS "/node_modules' '" CUPEL_NODE "' " + arguments;
}

inline std::string hex(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 15U];
  }
  return text;
}

/// The bits of a double in hexadecimal digits, or "nan".
inline std::string bits_of(double number) {
  if (std::isnan(number)) return "nan";
  const auto bits = std::bit_cast<std::uint64_t>(number);
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) {
    const auto byte = static_cast<unsigned char>(bits >> static_cast<unsigned>(shift));
    text += hex(&byte, 1);
  }
  return text;
}

}  // namespace cupel_foreign
