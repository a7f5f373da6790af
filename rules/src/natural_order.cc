#include "natural_order.h"

#include <cstddef>

namespace cupel {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// The digits that begin at `at`, without leading zeros.
std::string_view digits(std::string_view text, std::size_t& at) noexcept {
  while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return text.substr(first, at - first);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) noexcept {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view left = digits(a, i);
      const std::string_view right = digits(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  const bool a_over = i == a.size();
  const bool b_over = j == b.size();
  if (a_over != b_over) return a_over;
  return a < b;  // "w1" and "w01" are equal as numbers
}

}  // namespace cupel
