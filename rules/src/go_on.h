#pragma once

#include <chrono>
#include <functional>

namespace cupel::rules_detail {

/// A function that waiting code calls repeatedly. A call takes at most about so long, less when
/// there is news, and returns whether to go on waiting (true) or to end the action.
using GoOn = std::function<bool(std::chrono::milliseconds at_most)>;

}  // namespace cupel::rules_detail
