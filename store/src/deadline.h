#pragma once

#include <algorithm>
#include <chrono>

namespace cupel::store_detail {

/// Returns the end of a wait of `at_most` from now on, at most a year, so that nothing overflows.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::milliseconds at_most) {
  constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() +
         std::clamp(at_most, std::chrono::milliseconds(0), kYear);
}

}  // namespace cupel::store_detail
