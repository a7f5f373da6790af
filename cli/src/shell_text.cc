#include "shell_text.h"

#include <algorithm>
#include <cctype>

#include "cupel/core/printable.h"

namespace cupel {
namespace {

// $'…', which the shells bash, zsh and ksh know: what cannot be seen is octal.
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
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./+,:@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  if (printable(text, std::string_view::npos) != text) return escaped_for_shell(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace cupel
