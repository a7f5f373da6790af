#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel {

/// The most bytes that a message quotes of one value.
inline constexpr std::size_t kMostShownBytes = std::size_t{4} << 10U;
/// The most bytes of a whole message, with the values that it quotes.
inline constexpr std::size_t kMostMessageBytes = 8 * kMostShownBytes;

/// Returns `text` in one line and escapes each character that is invisible or that moves other
/// text, so that no name of a tensor moves a terminal's cursor. Escaped are:
///
///     C0, DEL, C1 as UTF-8, bytes that are no UTF-8         \x1b, \x7f, \x9b, \xff
///     bidirectional controls, zero-width characters,        \u202e, \u200b, \u2028,
///     separators of lines, tags, fillers, private use       \U000e0041
///
/// A text that is printable already stays as it is. The result has at most `most` bytes; where that
/// is not the whole text, "... (N bytes more)" follows, with the number of bytes left out.
std::string printable(std::string_view text, std::size_t most = kMostShownBytes);

/// JSON text with the characters that printable() escapes as \u escapes, which a parser reads as
/// the same characters. C0 stays: in JSON it stands between values alone.
std::string printable_json(std::string json);

/// A value of a JSON library that has dump(), as text for an output: one line, or indented by
/// `indent`. Bytes that are no UTF-8 are replaced, and characters that printable() escapes are \u
/// escapes.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace cupel
