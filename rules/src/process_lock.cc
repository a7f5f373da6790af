#include "process_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "cupel/core/error.h"

namespace cupel::rules_detail {

void lock_for_runner(const FileHandle& file, const std::string& path, const std::string& what) {
  // A command that a killed runner was just beginning holds the lock for a moment.
  constexpr auto kPatience = std::chrono::seconds(1);
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const int number = errno;
    if (number != EWOULDBLOCK && number != EINTR)
      throw StoreError(path, false, std::string("cannot be locked: ") + std::strerror(number));
    if (std::chrono::steady_clock::now() >= until)
      throw UsageError("another runner is writing its lines to " + what);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace cupel::rules_detail
