#include "cupel/core/printable.h"

#include "cupel/core/text_pattern.h"

namespace cupel {
namespace {

/// The character that the text begins with; nothing if its first byte begins none.
std::string_view first_character(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  const std::string_view character = text.substr(0, length);
  return is_utf8(character) ? character : std::string_view();
}

bool is_control(std::string_view character) noexcept {
  const auto first = static_cast<unsigned char>(character.front());
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && static_cast<unsigned char>(character.back()) < 0xa0);
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    const std::size_t length = character.empty() ? 1 : character.size();
    std::string piece(text.substr(0, length));
    if (character.empty() || is_control(character)) {
      const auto byte = static_cast<unsigned char>(piece.back());
      piece = {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
    if (piece.size() > most - shown.size()) return shown + "...";
    shown += piece;
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace cupel
