#pragma once

#include <chrono>

#include "cupel/core/mutex.h"

namespace cupel {

/// The clock of a trial, and the way in which its threads wait. Any thread. A test may have a clock
/// whose time passes at once when a thread waits.
class TrialClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~TrialClock() = default;
  virtual Time now() const { return std::chrono::steady_clock::now(); }
  /// Waits until `changed` is notified or `until` has come; may return earlier.
  virtual void wait_until(ConditionVariable& changed, MutexLock& lock, Time until) const {
    changed.wait_until(lock, until);
  }
};

}  // namespace cupel
