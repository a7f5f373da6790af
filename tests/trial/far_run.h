#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/trial/trial_clock.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {

/// A clock that a test moves. When a thread waits, the clock moves to the end of that wait at once.
/// Any thread.
class MovedClock final : public TrialClock {
 public:
  Time now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void wait_until(ConditionVariable&, MutexLock&, Time until) const override {
    const std::lock_guard lock(mutex_);
    now_ = std::max(now_, until);
  }
  void pass(std::chrono::milliseconds time) const {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }
  /// The time since the clock was made.
  std::chrono::milliseconds passed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now() - begin_);
  }

 private:
  const Time begin_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  mutable Time now_ = begin_;  // guarded by mutex_
};

/// A run in a store where every request costs, and the clock of its trials, which the test moves.
struct FarRun {
  std::shared_ptr<RequestStore> store = std::make_shared<RequestStore>();
  std::shared_ptr<MovedClock> clock = std::make_shared<MovedClock>();

  WorkerWriter worker(WorkerSpec spec = {}) const { return WorkerWriter(*store, std::move(spec)); }
  std::unique_ptr<Trial> open(TrialOptions options = {}) const {
    options.polling.clock = clock;
    return std::make_unique<Trial>(store, std::move(options));
  }
  /// The requests that `work` made.
  template <class Work>
  Requests spent(Work&& work) const {
    const Requests before = store->requests();
    work();
    return store->requests() - before;
  }
  /// The keys that requests of a kind were for from then on, as in "GET".
  std::vector<std::string> asked(std::string_view kind, std::size_t since = 0) const {
    std::vector<std::string> keys;
    const std::vector<std::string> log = store->log();
    for (std::size_t i = since; i < log.size(); ++i)
      if (log[i].starts_with(kind)) keys.push_back(log[i].substr(kind.size() + 1));
    return keys;
  }
};

}  // namespace cupel::testing
