#include "step_ranges.h"

#include <cstddef>
#include <utility>

namespace cupel::command_detail {

std::vector<std::string> step_ranges(const std::vector<std::int64_t>& steps) {
  std::vector<std::string> ranges;
  for (std::size_t first = 0; first < steps.size();) {
    // As far as the steps are equally far apart.
    std::size_t last = first;
    const std::int64_t by = first + 1 < steps.size() ? steps[first + 1] - steps[first] : 0;
    while (last + 1 < steps.size() && steps[last + 1] - steps[last] == by) ++last;
    std::string text = std::to_string(steps[first]);
    if (last - first < 2) {
      last = first;
    } else {
      text += " to " + std::to_string(steps[last]);
      if (by > 1) text += " by " + std::to_string(by);
    }
    ranges.push_back(std::move(text));
    first = last + 1;
  }
  return ranges;
}

}  // namespace cupel::command_detail
