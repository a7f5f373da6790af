// Lua's tokens, as far as names, brackets and lines are concerned. Two users read scripts by them
// before or after Lua does: the check for long chains (source_check.cc), and the search for the
// line in which a field of a rule is written (field_lines.cc). Scripts may be hostile, so that each
// character is passed once, nothing is allocated and nothing fails.

#include "source_tokens.h"

#include <algorithm>
#include <array>

#include "cupel/core/ascii.h"

namespace cupel::lua {
namespace {

constexpr std::array<std::string_view, 22> kKeywords = {
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
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
    ++at_;
    if (c == '.' || c == ':')
      while (ahead() == c) ++at_;
    else if (c == '=' && ahead() == '=')
      ++at_;
  }
  token.text = text_.substr(begin, at_ - begin);
  return token;
}

void SourceTokens::skip_blanks_and_comments() noexcept {
  for (;;) {
    if (at_ < text_.size() && is_blank(text_[at_])) {
      if (text_[at_] == '\n') ++line_;
      ++at_;
    } else if (ahead() == '-' && ahead(1) == '-') {
      at_ += 2;
      if (at_long_bracket())
        skip_long_bracket();
      else
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
    } else {
      return;
    }
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
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] != ']') continue;
    std::size_t signs = 0;
    while (signs < level && ahead(1 + signs) == '=') ++signs;
    if (signs != level || ahead(1 + level) != ']') continue;
    at_ += level + 2;
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
  for (++at_; at_ < text_.size() && ahead() != quote && ahead() != '\n'; ++at_) {
    if (ahead() != '\\') continue;
    ++at_;
    if (ahead() == '\n') ++line_;
    if (ahead() != 'z') continue;
    while (at_ + 1 < text_.size() && is_blank(ahead(1))) {
      ++at_;
      if (ahead() == '\n') ++line_;
    }
  }
  at_ = std::min(at_, text_.size());
  if (ahead() == quote) ++at_;
}

}  // namespace cupel::lua
