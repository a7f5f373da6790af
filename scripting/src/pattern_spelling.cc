#include "pattern_spelling.h"

#include "cupel/core/ascii.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestShown = 100;

// How PCRE2 spells a class of Lua's.
std::string_view spelling(char letter) noexcept {
  switch (letter) {
    case 'a':
      return "[A-Za-z]";
    case 'A':
      return "[^A-Za-z]";
    case 'c':
      return "[[:cntrl:]]";
    case 'C':
      return "[^[:cntrl:]]";
    case 'd':
      return "\\d";
    case 'D':
      return "\\D";
    case 'f':
      return "look-behind and look-ahead, (?<!...)(?=...)";
    case 'g':
      return "[[:graph:]]";
    case 'G':
      return "[^[:graph:]]";
    case 'l':
      return "[a-z]";
    case 'L':
      return "[^a-z]";
    case 'p':
      return "[[:punct:]]";
    case 'P':
      return "[^[:punct:]]";
    case 's':
      return "\\s";
    case 'S':
      return "\\S";
    case 'u':
      return "[A-Z]";
    case 'U':
      return "[^A-Z]";
    case 'w':
      return "[A-Za-z0-9]";
    case 'W':
      return "[^A-Za-z0-9]";
    case 'x':
      return "[0-9A-Fa-f]";
    case 'X':
      return "[^0-9A-Fa-f]";
    default:
      return {};
  }
}

}  // namespace

std::string shown(std::string_view text) {
  return "'" + std::string(text.substr(0, kLongestShown)) +
         (text.size() > kLongestShown ? "...'" : "'");
}

std::string pattern_problem(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] == '\\') {
      ++at;
      continue;
    }
    const char letter = pattern[at + 1];
    if (pattern[at] != '%' || !is_letter(letter)) continue;
    std::string problem = "patterns are PCRE2's, not Lua's: write ";
    if (!spelling(letter).empty()) problem.append(spelling(letter)).append(" for %") += letter;
    if (!spelling(letter).empty()) problem += ", and ";
    return problem + "\\% for a percent sign before a letter, in " + shown(pattern);
  }
  return {};
}

}  // namespace cupel::scripting_detail
