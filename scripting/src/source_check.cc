#include "source_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::lua {
namespace {

constexpr std::array<std::string_view, 22> kKeywords = {
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_word(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Goes through a script as Lua's own reader does, as far as chains and lines are concerned.
class ChainCounter {
 public:
  explicit ChainCounter(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> find() {
    while (at_ < text_.size()) {
      if (!take()) return std::nullopt;
      if (levels_.back() > kLongestChain) return line_;
    }
    return std::nullopt;
  }

 private:
  char ahead(std::size_t by = 0) const noexcept {
    return at_ + by < text_.size() ? text_[at_ + by] : '\0';
  }

  // One token, or blanks; false where brackets do not fit, which Lua will refuse.
  bool take() {
    const char c = text_[at_];
    const bool is_member = after_dot_;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
      return true;
    }
    if (c == '\n') {
      ++line_;
      ++at_;
      return true;
    }
    if (c == '-' && ahead(1) == '-') {
      skip_comment();
      return true;
    }
    after_dot_ = false;
    if (is_digit(c) || (c == '.' && is_digit(ahead(1)))) {
      take_number();
    } else if (is_word(c)) {
      take_word(is_member);
    } else if (c == '\'' || c == '"') {
      take_text(c);
    } else if (c == '[' && is_long_bracket()) {
      skip_long_bracket();
    } else {
      return take_sign(c);
    }
    return true;
  }

  bool take_sign(char c) {
    ++at_;
    switch (c) {
      case '(':
      case '{':
        levels_.push_back(0);
        return true;
      case '[':
        ++levels_.back();
        levels_.push_back(0);
        return true;
      case ')':
      case ']':
      case '}': {
        // What is in parentheses may be gone on with, and a key is looked for as well.
        const int inner = levels_.back();
        levels_.pop_back();
        if (levels_.empty()) return false;
        if (c != '}') levels_.back() += inner;
        return true;
      }
      case '.':
      case ':':
        if (ahead() != c) {
          ++levels_.back();
          after_dot_ = true;
          return true;
        }
        while (ahead() == c) ++at_;
        break;
      default:
        break;
    }
    levels_.back() = 0;
    return true;
  }

  void take_word(bool is_member) {
    const std::size_t begin = at_;
    while (is_word(ahead())) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (!is_member || std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end())
      levels_.back() = 0;
  }

  void take_number() {
    const bool is_hexadecimal = ahead() == '0' && (ahead(1) == 'x' || ahead(1) == 'X');
    for (; is_word(ahead()) || ahead() == '.'; ++at_) {
      const char low = static_cast<char>(ahead() | 0x20);
      if (low == (is_hexadecimal ? 'p' : 'e') && (ahead(1) == '+' || ahead(1) == '-')) ++at_;
    }
    levels_.back() = 0;
  }

  void take_text(char quote) {
    for (++at_; at_ < text_.size() && ahead() != quote && ahead() != '\n'; ++at_) {
      if (ahead() != '\\') continue;
      ++at_;
      if (ahead() == '\n') ++line_;
      if (ahead() != 'z') continue;
      while (at_ + 1 < text_.size() &&
             std::string_view(" \t\r\n\f\v").find(ahead(1)) != std::string_view::npos) {
        ++at_;
        if (ahead() == '\n') ++line_;
      }
    }
    if (ahead() == quote) ++at_;
  }

  bool is_long_bracket() const noexcept {
    std::size_t by = 1;
    while (ahead(by) == '=') ++by;
    return ahead(by) == '[';
  }

  void skip_long_bracket() {
    std::string close = "]";
    for (++at_; ahead() == '='; ++at_) close += '=';
    close += ']';
    const std::size_t end = std::min(text_.find(close, at_), text_.size());
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                        text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    at_ = std::min(end + close.size(), text_.size());
  }

  void skip_comment() {
    at_ += 2;
    if (ahead() == '[' && is_long_bracket())
      skip_long_bracket();
    else
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  bool after_dot_ = false;
  // How many parts the chain has that goes on, for each bracket that is open.
  std::vector<int> levels_ = {0};
};

}  // namespace

std::optional<std::int64_t> line_of_long_chain(std::string_view text) {
  return ChainCounter(text).find();
}

}  // namespace cupel::lua
