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

namespace cupel::command_detail {

/// Shows the progress of a watch on a terminal, after the first second, in a thread of its own:
///
///     newest step 1200, 1180 judged, 20 behind, 3 findings, last step 2 s ago
class WatchStatus {
 public:
  /// The thread of the object calls `text` for the line.
  WatchStatus(std::function<std::string()> text, StatusLine::Terminal terminal);
  ~WatchStatus();
  WatchStatus(const WatchStatus&) = delete;
  WatchStatus& operator=(const WatchStatus&) = delete;

  /// Calls `write` while the line is removed. Any thread may call this.
  void step_aside(const std::function<void()>& write);

 private:
  void work(const std::stop_token& stop);

  const std::function<std::string()> text_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  StatusLine line_;      // guarded by mutex_
  std::jthread thread_;  // last, because it uses all members above; no thread without a terminal
};

/// A time as runs have it. The nanoseconds of the system's clock end in the year 2262.
using CommitTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

inline CommitTime commit_time(std::chrono::system_clock::time_point time) {
  return std::chrono::time_point_cast<CommitTime::duration>(time);
}

/// Returns the line. `findings` is the number of findings so far, and `newest_at` the time at which
/// the newest step was committed.
std::string watch_status_text(const RunnerProgress& progress, std::int64_t findings,
                              CommitTime newest_at, CommitTime now);

}  // namespace cupel::command_detail
