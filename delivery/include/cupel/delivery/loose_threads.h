#pragma once

#include <functional>
#include <memory>

#include "cupel/core/mutex.h"

namespace cupel {

/// Threads that may hang in a request to a remote store for as long as the store lets them.
///
/// The destructor waits one second for the threads and then leaves them to themselves. Therefore
/// everything that a thread uses must belong to the thread.
class LooseThreads {
 public:
  LooseThreads();
  ~LooseThreads();
  LooseThreads(const LooseThreads&) = delete;
  LooseThreads& operator=(const LooseThreads&) = delete;

  /// Starts a thread. `body` throws nothing. Throws std::system_error when the system has no
  /// thread to give.
  void start(std::function<void()> body);

 private:
  struct Running {
    Mutex mutex;
    ConditionVariable ended;
    int threads CUPEL_GUARDED_BY(mutex) = 0;
  };
  std::shared_ptr<Running> running_;
};

}  // namespace cupel
