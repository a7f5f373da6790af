#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/store/store.h"
#include "cupel/trial/trial_options.h"
#include "index_source.h"
#include "poll_timer.h"
#include "snapshot.h"
#include "value_cache.h"
#include "value_reader.h"

namespace cupel::trial_detail {

/// A thread that waits for changes of a run calls Watch::wait() for this long at most: a watch
/// reports every change when its time is over, also one of which the store did not notify it.
inline constexpr std::chrono::milliseconds kLongestWait(1000);

/// Everything that the views of a run share: the index source, the newest snapshot, and the values
/// that are kept. Any thread; one thread at a time refreshes, the others wait for it.
class TrialIndex {
 public:
  /// Opens a run in cupel's format and reads what is there. Throws as the constructor of Trial
  /// does.
  static std::shared_ptr<TrialIndex> open(std::shared_ptr<const Store> store, TrialOptions options);
  /// Opens the run that `source` reads from `store`. `options` are checked and have a clock.
  TrialIndex(std::shared_ptr<const Store> store, std::unique_ptr<IndexSource> source,
             const TrialOptions& options);

  const Store& store() const noexcept { return *store_; }
  const StoreSchemes& schemes() const noexcept { return schemes_; }
  const TrialClock& clock() const noexcept { return *clock_; }
  /// For IndexSource::format(), has_ended() and writer_lock(), which any thread may call.
  const IndexSource& source() const noexcept { return *source_; }
  ValueReader& reader() noexcept { return reader_; }
  ValueCache& values() noexcept { return values_; }
  /// Whether every request to the store costs time and money.
  bool requests_cost() const noexcept { return poll_timer_ != nullptr; }

  std::shared_ptr<const Snapshot> newest() const;

  /// The newest snapshot, after a poll if the store reports that the run may have changed. Throws
  /// each damage once.
  std::shared_ptr<const Snapshot> up_to_date();

  /// Polls the run in any case; true if anything came. Throws the first damage each time.
  bool refresh();
  /// Does the same, unless requests cost and no poll is due.
  bool refresh_if_due();

  /// A watch for changes after the call.
  std::unique_ptr<Watch> watch() const;

  /// Throws the first damage, if there is any.
  void require_undamaged();

  /// Logs a warning, unless the same text was logged before.
  void warn_once(const std::string& text);

 private:
  void wait_for_run(const TrialOptions& options) CUPEL_REQUIRES(refresh_mutex_);
  const FormatError* worst_damage() const noexcept CUPEL_REQUIRES(refresh_mutex_);
  void throw_damage() CUPEL_REQUIRES(refresh_mutex_);
  bool refresh_alone() CUPEL_REQUIRES(refresh_mutex_);
  bool poll() CUPEL_REQUIRES(refresh_mutex_);
  bool read_and_publish() CUPEL_REQUIRES(refresh_mutex_);
  void publish_after_failure() CUPEL_REQUIRES(refresh_mutex_);
  void publish(bool ended) CUPEL_REQUIRES(refresh_mutex_);
  std::int64_t passed_step(const Snapshot& snapshot) const CUPEL_REQUIRES(refresh_mutex_);
  void skip_slow_workers(Snapshot& snapshot) CUPEL_REQUIRES(refresh_mutex_);

  const std::shared_ptr<const Store> store_;
  const StoreSchemes schemes_;
  const std::shared_ptr<const TrialClock> clock_;
  const std::shared_ptr<PollTimer> poll_timer_;  // null where requests cost nothing
  const std::unique_ptr<IndexSource> source_;
  ValueReader reader_;
  ValueCache values_;
  const std::chrono::milliseconds end_delay_;
  const std::optional<std::int64_t> wait_window_;

  // The source, its pointer apart, belongs to the thread that holds this mutex.
  Mutex refresh_mutex_;
  std::unique_ptr<Watch> watch_;
  // Set while the run is opened.
  IndexSource::Progress progress_ CUPEL_GUARDED_BY(refresh_mutex_);
  // The number of the source's errors that were reported.
  std::size_t damage_reported_ CUPEL_GUARDED_BY(refresh_mutex_) = 0;
  // The last poll did not read everything.
  bool poll_again_ CUPEL_GUARDED_BY(refresh_mutex_) = false;
  // Up to this step no worker is waited for.
  std::int64_t skipped_to_ CUPEL_GUARDED_BY(refresh_mutex_) = -1;
  std::size_t rewinds_seen_ CUPEL_GUARDED_BY(refresh_mutex_) = 0;

  std::atomic<bool> finished_{false};  // nothing more can come, and all damage was reported

  Mutex warned_mutex_;
  std::set<std::string> warned_ CUPEL_GUARDED_BY(warned_mutex_);

  mutable Mutex newest_mutex_;
  std::shared_ptr<const Snapshot> newest_ CUPEL_GUARDED_BY(newest_mutex_);
};

}  // namespace cupel::trial_detail
