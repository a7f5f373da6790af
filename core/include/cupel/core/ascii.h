#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace cupel {

/// Letters and digits of ASCII, the same in every locale; bytes beyond ASCII are neither. Text that
/// programs compare (options, names of rules, hosts) is read with these functions. Pure functions,
/// for any thread.

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) noexcept { return is_lower(c) || is_upper(c); }
constexpr bool is_alphanumeric(char c) noexcept { return is_letter(c) || is_digit(c); }
/// Whether an identifier may hold the character: a letter, a digit or '_'.
constexpr bool is_word(char c) noexcept { return is_alphanumeric(c) || c == '_'; }
/// Whether a name is an identifier: word characters, of which the first is no digit.
constexpr bool is_identifier(std::string_view name) noexcept {
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, is_word);
}

constexpr char to_lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char to_upper(char c) noexcept {
  return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);
/// Whether two texts are the same but for the case of letters.
constexpr bool same_but_for_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

/// The form in which names are compared: lower case, without '_' and '-'. "VanishingGradient" and
/// "vanishing_gradient" fold to the same text.
std::string folded_name(std::string_view name);
/// "VanishingGradient" as "vanishing_gradient", "NLPSequenceRatio" as "nlp_sequence_ratio",
/// "FindNaN" as "find_nan".
std::string snake_case(std::string_view name);

/// The lower-case digit of a number below 16.
constexpr char hexadecimal_digit(unsigned number) noexcept {
  return static_cast<char>(number < 10 ? '0' + number : 'a' + (number - 10));
}
/// The number that a hexadecimal digit of either case stands for; -1 for another character.
constexpr int hexadecimal_value(char digit) noexcept {
  if (is_digit(digit)) return digit - '0';
  const char lower = to_lower(digit);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Appends a byte as "%2F", the form of URLs.
void append_percent_escape(std::string& text, char byte);

}  // namespace cupel
