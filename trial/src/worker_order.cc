#include "worker_order.h"

#include <algorithm>
#include <utility>

namespace cupel::trial_detail {

namespace {

std::pair<std::string_view, std::string_view> split_number(std::string_view name) noexcept {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t begin = last == std::string_view::npos ? 0 : last + 1;
  std::string_view number = name.substr(begin);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return {name.substr(0, begin), number};
}

}  // namespace

bool WorkerOrder::operator()(std::string_view a, std::string_view b) const noexcept {
  const auto [a_head, a_number] = split_number(a);
  const auto [b_head, b_number] = split_number(b);
  if (a_head != b_head) return a_head < b_head;
  if (a_number.size() != b_number.size()) return a_number.size() < b_number.size();
  if (a_number != b_number) return a_number < b_number;
  return a < b;
}

}  // namespace cupel::trial_detail
