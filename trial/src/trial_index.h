#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/store/store.h"
#include "cupel/trial/trial.h"
#include "index_data.h"
#include "index_follower.h"
#include "look_pace.h"
#include "run_collections.h"
#include "run_look.h"
#include "snapshot.h"
#include "value_cache.h"
#include "value_reader.h"

namespace cupel {

/// Everything that the views of a run share: what was read of it, and the newest snapshot. Any
/// thread; one at a time refreshes, the others wait for it.
class TrialIndex {
 public:
  /// Opens the run and looks for the first time. Throws as the constructor of Trial does.
  TrialIndex(std::shared_ptr<const Store> store, const TrialOptions& options);

  const Store& store() const noexcept { return *store_; }
  const TrialClock& clock() const noexcept { return *clock_; }
  trial_detail::ValueReader& reader() noexcept { return reader_; }
  trial_detail::ValueCache& values() noexcept { return values_; }

  std::shared_ptr<const Snapshot> newest() const;

  /// The newest snapshot after a look at the run, if the store says that it may have changed.
  /// Throws each damage once.
  std::shared_ptr<const Snapshot> up_to_date();

  /// Looks in any case; true if anything came. Throws the first damage each time.
  bool refresh();
  /// The same, unless looks cost and none is due.
  bool refresh_if_due();

  /// Of what may have changed since it was made.
  std::unique_ptr<Watch> watch() const;

  /// Throws the first damage, if there is any.
  void require_undamaged();

  /// Logs a warning, the first time that it is given.
  void warn_once(const std::string& text);

 private:
  void await_collections(const TrialOptions& options);
  const FormatError* worst_damage() const noexcept;
  void throw_damage();
  bool refresh(const std::lock_guard<std::mutex>& lock);
  bool look();
  bool look_for_news();
  trial_detail::RunLook::Begin begin_look();
  bool read_news(trial_detail::RunLook::Begin begun);
  void read_collections();
  void publish_what_came();
  void note_damage(trial_detail::RunCollections::News& found);
  void publish(std::set<std::string, std::less<>> ended_workers, bool ended);
  std::int64_t settled(const Snapshot& snapshot,
                       const std::set<std::string, std::less<>>& ended_workers) const;
  void concede(Snapshot& snapshot);

  const std::shared_ptr<const Store> store_;
  const std::shared_ptr<const TrialClock> clock_;
  const std::shared_ptr<trial_detail::LookPace> pace_;  // null where looks cost nothing
  const std::shared_ptr<trial_detail::IndexData> data_;
  trial_detail::ValueReader reader_;
  trial_detail::ValueCache values_;
  const std::chrono::milliseconds end_delay_;
  const std::optional<std::int64_t> wait_window_;

  // One thread at a time refreshes, and owns all this.
  std::mutex refresh_mutex_;
  std::unique_ptr<Watch> watch_;
  const std::unique_ptr<trial_detail::RunLook> look_;
  trial_detail::IndexFollower follower_;
  std::shared_ptr<const trial_detail::RunCollections> collections_;
  std::set<std::string, std::less<>> ended_workers_;
  std::vector<FormatError> damage_;  // in the order met, each once
  std::size_t damage_told_ = 0, damage_followed_ = 0;
  // Of this run nothing more can come. What follows is another one, of which nothing is taken.
  std::optional<FormatError> loss_;
  bool replaced_ = false;
  bool look_owed_ = false;         // the last look did not show everything
  bool collections_owed_ = false;  // they are to be read whatever the index files say
  std::int64_t conceded_ = -1;     // up to this step slow workers are not waited for
  std::size_t rewinds_seen_ = 0;

  std::atomic<bool> at_rest_{false};  // nothing more can come, and all damage was told

  std::mutex warned_mutex_;
  std::set<std::string> warned_;  // guarded by warned_mutex_

  mutable std::mutex newest_mutex_;
  std::shared_ptr<const Snapshot> newest_;  // guarded by newest_mutex_
};

}  // namespace cupel
