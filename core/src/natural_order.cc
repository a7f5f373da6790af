#include "cupel/core/natural_order.h"

#include <cstddef>

#include "cupel/core/ascii.h"

namespace cupel {
namespace {

// The run of digits that begins at `at`, without leading zeros; `at` is moved behind the run.
std::string_view take_digits(std::string_view text, std::size_t& at) noexcept {
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
      const std::string_view left = take_digits(a, i);
      const std::string_view right = take_digits(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  const bool a_is_over = i == a.size();
  const bool b_is_over = j == b.size();
  if (a_is_over != b_is_over) return a_is_over;
  return a < b;  // "w1" and "w01" are equal as numbers
}

}  // namespace cupel
