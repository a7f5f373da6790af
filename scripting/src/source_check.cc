// Counts fields, indices and methods in a row in the text of a script, over the tokens of
// source_tokens.h and at each level of brackets. Nothing fails: a text that is no Lua is left to
// the compiler.

#include "source_check.h"

#include <string_view>
#include <utility>
#include <vector>

#include "source_tokens.h"

namespace cupel::scripting_detail {
namespace {

// Counts how many parts the chain has that goes on, for each bracket that is open.
class ChainCounter {
 public:
  // Takes a token; false where brackets do not fit, which Lua will refuse.
  bool take(const SourceToken& token) {
    const bool is_member = std::exchange(after_dot_, false);
    switch (token.kind) {
      case SourceToken::Kind::Sign:
        return take_sign(token.text);
      case SourceToken::Kind::Number:
        levels_.back() = 0;
        break;
      case SourceToken::Kind::Name:
        if (!is_member || is_keyword(token.text)) levels_.back() = 0;
        break;
      default:  // a text may be an argument, behind which a chain goes on
        break;
    }
    return true;
  }

  int length() const noexcept { return levels_.back(); }

 private:
  bool take_sign(std::string_view sign) {
    switch (sign.front()) {
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
        if (sign != "}") levels_.back() += inner;
        return true;
      }
      default:
        break;
    }
    after_dot_ = sign == "." || sign == ":";
    levels_.back() = after_dot_ ? levels_.back() + 1 : 0;
    return true;
  }

  std::vector<int> levels_ = {0};
  bool after_dot_ = false;
};

}  // namespace

std::optional<std::int64_t> line_of_long_chain(std::string_view text) {
  SourceTokens tokens(text);
  ChainCounter chain;
  for (SourceToken token = tokens.next(); token.kind != SourceToken::Kind::End;
       token = tokens.next()) {
    if (!chain.take(token)) return std::nullopt;
    if (chain.length() > kLongestChain) return token.line;
  }
  return std::nullopt;
}

}  // namespace cupel::scripting_detail
