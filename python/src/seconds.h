#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "cupel/core/error.h"

namespace cupel::python {

/// A number of seconds as whole milliseconds, at most a year. Throws UsageError for a negative
/// number and for NaN.
inline std::chrono::milliseconds whole_milliseconds(double seconds) {
  constexpr double kMost = 365.0 * 24 * 3600;
  if (!(seconds >= 0))
    throw UsageError("a time is a number of seconds, 0 or more: " + std::to_string(seconds));
  return std::chrono::milliseconds(std::llround(std::min(seconds, kMost) * 1000));
}

}  // namespace cupel::python
