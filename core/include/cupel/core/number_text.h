#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace cupel {

/// Numbers as text and text as numbers, the same in every locale. Pure functions, for any thread.

/// The shortest decimal text that reads back as the same number; "NaN", "Infinity", "-Infinity".
std::string shortest_text(double number);
/// Does the same for a float, with the digits that distinguish it from other floats.
std::string shortest_text(float number);

/// Returns the number with at most so many significant digits.
std::string rounded_text(double number, int digits);

/// Returns at most six significant digits, for people.
std::string short_text(double number);

/// "3.1e-09 < 1e-07": short, unless both sides would then look the same.
std::string comparison_text(double value, std::string_view sign, double threshold);

/// The number with so many hexadecimal digits, lower case; the digits in front are left out where
/// there is no room for them.
std::string hexadecimal_text(std::uint64_t number, std::size_t digits);

/// The number that the whole text is in base 10 or 16: digits, and '-' before those of a signed
/// number. Nothing for any other text, also with blanks or '+', and for a number out of range.
template <std::integral Integer>
std::optional<Integer> parse_integer(std::string_view text, int base = 10) noexcept {
  Integer number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// The number that the whole text is: decimal, with fraction and exponent as in C; "inf" and "nan"
/// are numbers too. Nothing for any other text, also with blanks or '+', and for a number out of
/// range.
std::optional<double> parse_number(std::string_view text) noexcept;

/// A number as people write it, for the functions above: without the blanks around it, and without
/// a '+' before it.
std::string_view without_blanks_and_plus(std::string_view text) noexcept;

}  // namespace cupel
