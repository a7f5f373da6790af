#pragma once

#include <cstddef>
#include <functional>

namespace cupel::s3_detail {

/// Runs task(0) to task(count - 1) on up to `threads` threads, one of which is the caller's. After
/// an exception no further task begins; when the running tasks have ended, the first exception is
/// thrown.
void run_parallel(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task);

}  // namespace cupel::s3_detail
