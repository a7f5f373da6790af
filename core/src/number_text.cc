#include "cupel/core/number_text.h"

#include <array>
#include <cmath>

#include "cupel/core/ascii.h"
#include "cupel/core/comma_list.h"

namespace cupel {
namespace {

// Any number of the shortest digits, and of 17 significant ones, is shorter.
constexpr std::size_t kMostCharacters = 64;

template <std::floating_point Number, class... Form>
std::string number_text(Number number, Form... form) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::array<char, kMostCharacters> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, form...).ptr};
}

}  // namespace

std::string shortest_text(double number) { return number_text(number); }

std::string shortest_text(float number) { return number_text(number); }

std::string rounded_text(double number, int digits) {
  return number_text(number, std::chars_format::general, digits);
}

std::string short_text(double number) { return rounded_text(number, 6); }

std::string comparison_text(double value, std::string_view sign, double threshold) {
  std::string left = short_text(value);
  std::string right = short_text(threshold);
  if (left == right) {
    left = shortest_text(value);
    right = shortest_text(threshold);
  }
  return left + " " + std::string(sign) + " " + right;
}

std::string hexadecimal_text(std::uint64_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0 && number != 0; number >>= 4U)
    text[i] = hexadecimal_digit(static_cast<unsigned>(number & 15U));
  return text;
}

std::optional<double> parse_number(std::string_view text) noexcept {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::string_view without_blanks_and_plus(std::string_view text) noexcept {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

}  // namespace cupel
