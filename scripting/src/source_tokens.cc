// Lua's tokens, as far as names, brackets and lines are concerned. Two users read scripts by them
// before or after Lua does: the check for long chains (source_check.cc), and the search for the
// line in which a field of a rule is written (field_lines.cc). Scripts may be hostile, so that each
// character is passed once, nothing is allocated and nothing fails.

#include "source_tokens.h"

#include <algorithm>
#include <array>

#include "cupel/core/ascii.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::array<std::string_view, 22> kKeywords = {
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};

bool is_line_end(char c) noexcept { return c == '\n' || c == '\r'; }

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\f' || c == '\v' || is_line_end(c);
}

}  // namespace

bool is_keyword(std::string_view name) noexcept {
  return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
}

char SourceTokens::ahead(std::size_t by) const noexcept {
  return at_ + by < text_.size() ? text_[at_ + by] : '\0';
}

SourceToken SourceTokens::next() noexcept {
  skip_blanks_and_comments();
  SourceToken token{.line = line_};
  const std::size_t begin = at_;
  const char c = ahead();
  if (at_ == text_.size()) return token;
  if (is_digit(c) || (c == '.' && is_digit(ahead(1)))) {
    token.kind = SourceToken::Kind::Number;
    skip_number();
  } else if (is_word(c)) {
    token.kind = SourceToken::Kind::Name;
    while (is_word(ahead())) ++at_;
  } else if (c == '\'' || c == '"') {
    token.kind = SourceToken::Kind::Text;
    skip_text(c);
  } else if (at_long_bracket()) {
    token.kind = SourceToken::Kind::Text;
    skip_long_bracket();
  } else {
    token.kind = SourceToken::Kind::Sign;
    at_ += size_of_sign();
  }
  token.text = text_.substr(begin, at_ - begin);
  return token;
}

// Signs of two characters end with '=', or repeat their first one.
std::size_t SourceTokens::size_of_sign() const noexcept {
  const char c = ahead();
  const char second = ahead(1);
  if (c == '.' && second == '.') return ahead(2) == '.' ? 3 : 2;
  const bool is_repeated = second == c && (c == ':' || c == '/' || c == '<' || c == '>');
  const bool is_compared = second == '=' && (c == '=' || c == '~' || c == '<' || c == '>');
  return is_repeated || is_compared ? 2 : 1;
}

// CR LF and LF CR are one end of a line.
void SourceTokens::skip_line_end() noexcept {
  const char first = ahead();
  ++at_;
  if (at_ < text_.size() && is_line_end(ahead()) && ahead() != first) ++at_;
  ++line_;
}

void SourceTokens::skip_blanks() noexcept {
  while (at_ < text_.size() && is_blank(ahead())) {
    if (is_line_end(ahead()))
      skip_line_end();
    else
      ++at_;
  }
}

void SourceTokens::skip_blanks_and_comments() noexcept {
  for (skip_blanks(); ahead() == '-' && ahead(1) == '-'; skip_blanks()) {
    at_ += 2;
    if (at_long_bracket())
      skip_long_bracket();
    else
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
  }
}

bool SourceTokens::at_long_bracket() const noexcept {
  if (ahead() != '[') return false;
  std::size_t by = 1;
  while (ahead(by) == '=') ++by;
  return ahead(by) == '[';
}

void SourceTokens::skip_long_bracket() noexcept {
  std::size_t level = 0;
  for (++at_; ahead() == '='; ++at_) ++level;
  // Goes from one closing bracket to the next, up to that of the same level.
  for (++at_; at_ < text_.size();) {
    if (is_line_end(ahead())) {
      skip_line_end();
      continue;
    }
    const bool may_close = ahead() == ']';
    ++at_;
    if (!may_close) continue;
    std::size_t signs = 0;
    while (signs < level && ahead(signs) == '=') ++signs;
    if (signs != level || ahead(level) != ']') continue;
    at_ += level + 1;
    return;
  }
}

void SourceTokens::skip_number() noexcept {
  const bool is_hexadecimal = ahead() == '0' && to_lower(ahead(1)) == 'x';
  for (; is_word(ahead()) || ahead() == '.'; ++at_) {
    const char low = to_lower(ahead());
    if (low == (is_hexadecimal ? 'p' : 'e') && (ahead(1) == '+' || ahead(1) == '-')) ++at_;
  }
}

void SourceTokens::skip_text(char quote) noexcept {
  for (++at_; at_ < text_.size() && ahead() != quote && !is_line_end(ahead());) {
    const bool is_escape = ahead() == '\\';
    ++at_;
    if (!is_escape || at_ == text_.size()) continue;
    if (is_line_end(ahead())) {
      skip_line_end();
      continue;
    }
    const bool skips_blanks = ahead() == 'z';
    ++at_;
    if (skips_blanks) skip_blanks();
  }
  if (at_ < text_.size() && ahead() == quote) ++at_;
}

}  // namespace cupel::scripting_detail
