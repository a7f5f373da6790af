#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cupel {

/// What time it is for a trial, and how its threads wait; any thread. A test has one of its own,
/// whose time passes at once where somebody waits.
class TrialClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~TrialClock() = default;
  virtual Time now() const { return std::chrono::steady_clock::now(); }
  /// Waits until `changed` is notified or `until` has come; may wake for nothing.
  virtual void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                          Time until) const {
    changed.wait_until(lock, until);
  }
};

}  // namespace cupel
