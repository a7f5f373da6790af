// One table of ranges, behind is_unseen(), holds the characters that no output of cupel shows raw.
// printable() writes such a character as people read it, printable_json() as a parser does. A byte
// that begins no character of UTF-8 is escaped by itself, and the next byte begins anew, so that
// any bytes make a text. Any thread; nothing fails but for a lack of memory.

#include "cupel/core/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "cupel/core/number_text.h"
#include "cupel/core/utf8.h"

namespace cupel {
namespace {

struct CodeSpan {
  std::uint32_t first, last;
};

// Beyond the controls up to U+009F: Unicode's format characters, fillers, separators of lines,
// private use and tags; code points that are no characters are found by is_unseen(). Variation
// selectors stay: emoji are written with them.
constexpr std::array kUnseen = {
    CodeSpan{0xad, 0xad},       CodeSpan{0x34f, 0x34f},     CodeSpan{0x61c, 0x61c},
    CodeSpan{0x115f, 0x1160},   CodeSpan{0x17b4, 0x17b5},   CodeSpan{0x180b, 0x180f},
    CodeSpan{0x200b, 0x200f},   CodeSpan{0x2028, 0x202e},   CodeSpan{0x2060, 0x206f},
    CodeSpan{0x3164, 0x3164},   CodeSpan{0xfeff, 0xfeff},   CodeSpan{0xffa0, 0xffa0},
    CodeSpan{0xfdd0, 0xfdef},   CodeSpan{0xfff0, 0xfffb},   CodeSpan{0x13430, 0x1343f},
    CodeSpan{0x1bca0, 0x1bca3}, CodeSpan{0x1d173, 0x1d17a}, CodeSpan{0xe0000, 0xe0fff},
    CodeSpan{0xf0000, 0x10ffff}};

bool is_unseen(std::uint32_t code) noexcept {
  if (code < 0xa0) return code < 0x20 || code >= 0x7f;
  if ((code & 0xfffeU) == 0xfffeU) return true;
  return std::any_of(kUnseen.begin(), kUnseen.end(), [code](const CodeSpan& span) {
    return code >= span.first && code <= span.last;
  });
}

std::string escape_of(std::uint32_t code) {
  if (code < 0x100) return "\\x" + hexadecimal_text(code, 2);
  return code < 0x10000 ? "\\u" + hexadecimal_text(code, 4) : "\\U" + hexadecimal_text(code, 8);
}

std::string json_escape_of(std::uint32_t code) {
  if (code < 0x10000) return "\\u" + hexadecimal_text(code, 4);
  const std::uint32_t rest = code - 0x10000;
  return "\\u" + hexadecimal_text(0xd800 + (rest >> 10U), 4) + "\\u" +
         hexadecimal_text(0xdc00 + (rest & 0x3ffU), 4);
}

bool is_plain_ascii(char c) noexcept { return c >= ' ' && c <= '~'; }

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  const std::size_t plain = static_cast<std::size_t>(
      std::find_if_not(text.begin(), text.end(), is_plain_ascii) - text.begin());
  std::string shown(text.substr(0, std::min(plain, most)));
  text.remove_prefix(shown.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::size_t length = std::max<std::size_t>(character.length, 1);
    const std::string piece = character.length == 0
                                  ? escape_of(static_cast<unsigned char>(text.front()))
                              : is_unseen(character.code) ? escape_of(character.code)
                                                          : std::string(text.substr(0, length));
    if (piece.size() > most - shown.size())
      return shown + "... (" + std::to_string(text.size()) + " bytes more)";
    shown += piece;
    text.remove_prefix(length);
  }
  return shown;
}

std::string printable_json(std::string json) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x7f; };
  if (std::all_of(json.begin(), json.end(), is_ascii)) return json;
  std::string shown;
  std::string_view rest = json;
  while (!rest.empty()) {
    const Utf8Character character = first_character(rest);
    const std::size_t length = std::max<std::size_t>(character.length, 1);
    if (character.length == 0)
      shown += "\\ufffd";
    else if (character.code >= 0x7f && is_unseen(character.code))
      shown += json_escape_of(character.code);
    else
      shown += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return shown;
}

}  // namespace cupel
