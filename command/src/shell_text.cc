#include "shell_text.h"

#include <algorithm>

#include "cupel/core/ascii.h"
#include "cupel/core/printable.h"

namespace cupel::command_detail {
namespace {

// Returns $'…', which bash, zsh and ksh read; invisible characters are octal.
std::string escaped_for_shell(std::string_view text) {
  std::string quoted = "$'";
  for (const char c : text) {
    if (c >= ' ' && c <= '~') {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    quoted += '\\';
    for (const unsigned shift : {6U, 3U, 0U})
      quoted += static_cast<char>('0' + ((byte >> shift) & 7U));
  }
  return quoted + "'";
}

}  // namespace

std::string quoted_for_shell(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_word(c) || std::string_view("-./+,:@%").find(c) != std::string_view::npos;
  };
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  if (printable(text, std::string_view::npos) != text) return escaped_for_shell(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace cupel::command_detail
