#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace cupel::s3 {

void run_parallel(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr first;  // guarded by mutex
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) try {
        task(i);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < std::min(count, threads); ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // fewer do as well
    }
    work();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace cupel::s3
