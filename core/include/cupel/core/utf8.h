#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cupel {

/// Characters in bytes of UTF-8. Pure functions, for any thread.

/// Whether the text is well-formed: no form that is too long, no surrogate, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

/// Returns whether a byte continues a character that another byte has begun.
constexpr bool is_continuation(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// A character of a text.
struct Utf8Character {
  std::size_t length = 0;  ///< Its bytes; 0 if the bytes are no character.
  std::uint32_t code = 0;  ///< Its code point; 0 if the bytes are no character.
};

/// The character that a text begins with. The text must not be empty.
Utf8Character first_character(std::string_view text) noexcept;

/// The beginning of a well-formed text that has at most so many bytes and no part of a character.
std::string_view whole_characters(std::string_view text, std::size_t most) noexcept;

/// Appends a character. The code point must be one that UTF-8 can express.
void append_utf8(std::string& text, std::uint32_t code);

}  // namespace cupel
