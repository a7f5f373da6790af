#include "cupel/rules/number_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace cupel {
namespace {

const char* special(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return nullptr;
}

}  // namespace

std::string shortest_text(double number) {
  if (const char* name = special(number)) return name;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string short_text(double number) {
  if (const char* name = special(number)) return name;
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, 6)
          .ptr;
  return {text.data(), end};
}

std::string comparison_text(double value, std::string_view sign, double threshold) {
  std::string left = short_text(value);
  std::string right = short_text(threshold);
  if (left == right) {
    left = shortest_text(value);
    right = shortest_text(threshold);
  }
  return left + " " + std::string(sign) + " " + right;
}

}  // namespace cupel
