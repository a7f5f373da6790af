#include "cupel/core/utf8.h"

namespace cupel {

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    // Most text is ASCII.
    const std::size_t length =
        static_cast<unsigned char>(text.front()) < 0x80 ? 1 : first_character(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Utf8Character first_character(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return {};
    code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  constexpr std::uint32_t kLeastOfLength[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeastOfLength[length] || is_surrogate || code > 0x10ffff) return {};
  return {length, code};
}

std::string_view whole_characters(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  while (most > 0 && is_continuation(text[most])) --most;
  return text.substr(0, most);
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
    return;
  }
  const unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  add(kLead[more] | code >> 6 * more);
  for (unsigned i = more; i-- > 0;) add(0x80U | (code >> 6 * i & 0x3fU));
}

}  // namespace cupel
