#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "cupel/core/mutex.h"

namespace cupel::s3_detail {

void run_parallel(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  struct First {
    Mutex mutex;
    std::exception_ptr error CUPEL_GUARDED_BY(mutex);
  } first;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) try {
        task(i);
      } catch (...) {
        next = count;
        const MutexLock lock(first.mutex);
        if (!first.error) first.error = std::current_exception();
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
  const MutexLock lock(first.mutex);
  if (first.error) std::rethrow_exception(first.error);
}

}  // namespace cupel::s3_detail
