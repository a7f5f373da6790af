#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/trial/run_status.h"

namespace cupel {

class Snapshot;
class Trial;
class Watch;

/// Follows a run while it is written: what a program needs that judges each step once and goes on
/// until the run has ended. RuleRunner uses one. Questions about steps and tensors go to the Trial.
///
///     cupel::RunFollower follower(*trial);
///     std::int64_t next = 0;
///     for (bool ended = false; !ended;) {
///       follower.refresh_if_due();
///       ended = trial->ended();
///       for (const std::int64_t step : follower.steps_from(next)) {
///         judge(*trial, step);
///         next = step + 1;
///       }
///       if (!ended) static_cast<void>(follower.wait_for_change(std::chrono::seconds(1)));
///     }
///
/// A follower is cheap to make and borrows the view that it was made with, which must outlive it.
/// It shares everything that was read with all views of the run. Any thread may call any function,
/// but one thread at a time waits, and the view is pinned only while no other thread asks this
/// follower for snapshots or steps.
class RunFollower {
 public:
  explicit RunFollower(const Trial& view);
  ~RunFollower();
  RunFollower(const RunFollower&) = delete;
  RunFollower& operator=(const RunFollower&) = delete;

  // ---- Waiting for news

  /// Whether every request to the run's store costs time and money; then the run is polled at
  /// intervals (PollingOptions).
  bool requests_cost() const noexcept;
  /// Does what Trial::refresh() does where requests cost nothing, or a poll is due; else nothing,
  /// and returns false. Throws as Trial::refresh() does.
  bool refresh_if_due() const;
  /// Waits until the run may have changed since the previous call (true), the time is over, or
  /// wake() is called (false). The first call returns true at once. Throws StoreError.
  bool wait_for_change(std::chrono::milliseconds at_most);
  /// Ends wait_for_change() of this follower, and the waiting for missing values on any view of the
  /// run.
  void wake();

  // ---- What has changed

  /// The newest snapshot that was published, or the one that the view is pinned to. Does not poll.
  std::shared_ptr<const Snapshot> snapshot() const;
  /// The sorted global steps from `first` on, as Trial::steps() lists them. The cost depends on how
  /// many there are, not on how long the run is.
  std::vector<std::int64_t> steps_from(std::int64_t first,
                                       bool show_incomplete_steps = false) const;
  /// The least global step from which on later attempts of workers have taken back what `since`
  /// shows, as of snapshot(): what was computed from these steps is void. Nothing if every step of
  /// `since` is still valid.
  std::optional<std::int64_t> rewound_to(const Snapshot& since) const;
  /// Does the same since the moment when rewinds() was `rewinds_before`, also in an earlier
  /// process.
  std::optional<std::int64_t> rewound_to(std::size_t rewinds_before) const;
  /// How many times attempts of workers have taken back committed steps, as of snapshot().
  std::size_t rewinds() const;

  // ---- The run as a whole

  /// The status of the run now, also on a pinned view. Reads no steps. Throws StoreError.
  RunStatus status() const;
  /// Random texts that identify the run, also against a run that replaces it under the same path.
  /// There are several where workers that began together each named the run. Two results with a
  /// common text belong to the same run.
  std::vector<std::string> run_ids() const;
  /// The contents of a file of up to 4 KiB that another program has put into the run's directory;
  /// nothing if there is no such file. Throws UsageError for an illegal key, and StoreError for a
  /// longer file.
  std::optional<std::string> extra_file(std::string_view key) const;
  /// Keeps up to `bytes` bytes of values that are read from now on, and about an eighth of that for
  /// results computed from them: for rules that read the same steps side by side, or look back at
  /// earlier steps. Holds for all views of the run; 0, the default, keeps nothing.
  void keep_values(std::uint64_t bytes) const;

 private:
  const Trial& view_;
  Mutex waiting_;  // The thread that waits holds this mutex.
  Mutex watch_mutex_;
  // The first wait makes the watch, which stays.
  std::unique_ptr<Watch> watch_ CUPEL_GUARDED_BY(watch_mutex_);
};

}  // namespace cupel
