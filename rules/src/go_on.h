#pragma once

#include <chrono>
#include <functional>

namespace cupel {

/// What somebody who waits calls again and again: it takes at most about so long, less when there
/// is news, and says whether to wait on (true) or to end what is being done.
using GoOn = std::function<bool(std::chrono::milliseconds at_most)>;

}  // namespace cupel
