#include "colour.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "cupel/core/printable.h"
#include "terminal.h"

namespace cupel::command_detail {

std::string painted(std::ios_base& stream, Colour colour, std::string_view text) {
  static constexpr std::array<std::string_view, 4> kBegins = {"", "\x1b[1;31m", "\x1b[33m",
                                                              "\x1b[32m"};
  if (colour == Colour::None || !terminal_of(stream).colour) return std::string(text);
  return std::string(kBegins[static_cast<std::size_t>(colour)]).append(text).append("\x1b[0m");
}

Colour colour_of(RuleStatus status) noexcept {
  switch (status) {
    case RuleStatus::IssuesFound:
      return Colour::Alarm;
    case RuleStatus::Error:
    case RuleStatus::NothingSeen:
      return Colour::Doubt;
    case RuleStatus::NoIssuesFound:
      return Colour::Fine;
    default:
      return Colour::None;
  }
}

std::string with_painted_name(std::ios_base& stream, Colour colour, std::string text,
                              std::string_view name) {
  if (!terminal_of(stream).colour) return text;
  const std::string plain = printable(name);
  const std::string shown = painted(stream, colour, plain);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t at = text.find(plain, begin);
    if (at < text.find('\n', begin)) text.replace(at, plain.size(), shown);
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  return text;
}

std::string painted_text(std::ios_base& stream, const VerdictLine& line) {
  const bool fired = line.status == RuleStatus::IssuesFound && !line.final_line;
  return fired ? with_painted_name(stream, Colour::Alarm, to_text(line), line.name) : to_text(line);
}

}  // namespace cupel::command_detail
