#pragma once

#include <functional>
#include <memory>

#include "cupel/core/mutex.h"

namespace cupel {

// Threads that may hang in a request to a store far away, for as long as the store lets it. Whoever
// ends waits a moment for them and then leaves them to themselves, so what they use they must own.
class LooseThreads {
 public:
  LooseThreads();
  ~LooseThreads();
  LooseThreads(const LooseThreads&) = delete;
  LooseThreads& operator=(const LooseThreads&) = delete;

  // Throws std::system_error when the system has no thread to give. The body throws nothing.
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
