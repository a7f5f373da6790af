#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cupel/rules/rule_runner.h"
#include "status_line.h"

namespace cupel {

/// Shows on a terminal how a watch stands, from its second second on, by a thread of its own:
///
///     newest step 1200, 1180 judged, 20 behind, 3 findings, last step 2 s ago
class WatchStatus {
 public:
  /// `text` gives the line, from the object's thread.
  WatchStatus(std::function<std::string()> text, StatusLine::Terminal terminal);
  ~WatchStatus();
  WatchStatus(const WatchStatus&) = delete;
  WatchStatus& operator=(const WatchStatus&) = delete;

  /// Calls `write` while the line is not there; from any thread.
  void step_aside(const std::function<void()>& write);

 private:
  void work(const std::stop_token& stop);

  const std::function<std::string()> text_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  StatusLine line_;      // under mutex_
  std::jthread thread_;  // last: it uses all of the above; none without a terminal
};

/// A time as runs have it. The system's clock counts nanoseconds, which end in the year 2262.
using CommitTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

inline CommitTime commit_time(std::chrono::system_clock::time_point time) {
  return std::chrono::time_point_cast<CommitTime::duration>(time);
}

/// The line; `findings` is how many there are so far, `newest_at` when the newest step came.
std::string watch_status_text(const RunnerProgress& progress, std::int64_t findings,
                              CommitTime newest_at, CommitTime now);

}  // namespace cupel
