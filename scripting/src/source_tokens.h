#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cupel::scripting_detail {

/// A token of a script in Lua.
struct SourceToken {
  /// Name: a name or a keyword. Text: a literal in quotes or long brackets. End: there are no more.
  enum class Kind : std::uint8_t { Name, Number, Text, Sign, End };
  Kind kind = Kind::End;
  /// The token as the script has it, with its quotes.
  std::string_view text = {};
  /// The line of the token's first character, from 1. CR, LF and the two together end a line.
  std::int64_t line = 0;

  bool is_sign(std::string_view sign) const noexcept { return kind == Kind::Sign && text == sign; }
  bool is_name(std::string_view name) const noexcept { return kind == Kind::Name && text == name; }
};

/// Reads the tokens of a script as Lua's own reader does, and passes over blanks and comments. Any
/// text is taken: what Lua would refuse gives some tokens. A copy goes on by itself from where the
/// original is.
class SourceTokens {
 public:
  /// Borrows the text, which must outlive the reader and its tokens.
  explicit SourceTokens(std::string_view text) noexcept : text_(text) {}
  SourceToken next() noexcept;
  /// Returns how much of the text was read.
  std::size_t position() const noexcept { return at_; }

 private:
  char ahead(std::size_t by = 0) const noexcept;
  bool at_long_bracket() const noexcept;
  std::size_t size_of_sign() const noexcept;
  void skip_line_end() noexcept;
  void skip_blanks() noexcept;
  void skip_blanks_and_comments() noexcept;
  void skip_long_bracket() noexcept;
  void skip_number() noexcept;
  void skip_text(char quote) noexcept;
  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

/// Whether a name is a word of the language.
bool is_keyword(std::string_view name) noexcept;

}  // namespace cupel::scripting_detail
