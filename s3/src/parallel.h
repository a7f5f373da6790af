#pragma once

#include <cstddef>
#include <functional>

namespace cupel::s3 {

/// Runs task(0) to task(count - 1) on up to `threads` threads, the calling one among them. After an
/// exception no further task begins, and the first one is thrown when those under way have ended.
void run_parallel(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task);

}  // namespace cupel::s3
