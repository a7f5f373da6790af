#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "cupel/store/store.h"
#include "cupel/trial/trial_clock.h"
#include "cupel/trial/trial_options.h"
#include "index_builder.h"
#include "index_follower.h"
#include "index_source.h"
#include "run_poll.h"

namespace cupel::trial_detail {

/// The index of a run in cupel's own format: the collections files, the Arrow files below index/,
/// the markers of ended workers and the end marker.
class CupelIndexSource final : public IndexSource {
 public:
  /// Borrows the store. `clock` is not null; the clock of the options is not used.
  CupelIndexSource(const Store& store, std::shared_ptr<const TrialClock> clock,
                   const TrialOptions& options);

  std::string_view format() const noexcept override { return "cupel"; }
  bool has_ended() const override;
  LockState writer_lock(std::string_view worker) const override;

  bool find_run() override;
  bool begin_poll() override;
  bool read_news(bool ended, const Progress& progress) override;
  bool complete_after_failure() override;

 private:
  void read_collections();
  void add_damage(RunCollections::News& found);

  const Store& store_;
  const std::shared_ptr<const TrialClock> clock_;
  const std::unique_ptr<RunPoll> poll_;
  IndexBuilder builder_;
  IndexFollower follower_;
  bool full_poll_ = false;            // the poll that is under way asks for all files
  bool collections_are_new_ = false;  // find_run() has just read them
  bool needs_collections_ = false;    // they are to be read whatever the index files name
  std::set<std::string, std::less<>> ended_workers_;  // of the poll that is under way
  std::size_t damage_copied_ = 0;                     // of follower_.damage()
};

}  // namespace cupel::trial_detail
