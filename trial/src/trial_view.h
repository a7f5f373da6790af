#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cupel/trial/trial.h"
#include "snapshot_view.h"
#include "trial_index.h"

namespace cupel::trial_detail {

/// The parts of a Trial: the index that all views of the run share, and the pin of the view.
struct TrialView {
  std::shared_ptr<TrialIndex> index;
  std::string name;

  // The pin; set while no other thread queries the view.
  std::shared_ptr<const Snapshot> pinned = nullptr;
  std::optional<std::int64_t> limit = std::nullopt;  ///< The view shows steps up to this one.

  static TrialView& of(const Trial& trial) noexcept { return *trial.view_; }
  static std::unique_ptr<Trial> make_trial(std::shared_ptr<TrialIndex> index, std::string name);

  /// The snapshot that a query answers from: the pinned one, else the newest after a poll.
  SnapshotView read() const {
    if (pinned) return {pinned.get(), limit};
    return SnapshotView(index->up_to_date());
  }
  /// The pinned snapshot, else the newest one; does not poll.
  std::shared_ptr<const Snapshot> snapshot() const { return pinned ? pinned : index->newest(); }
};

}  // namespace cupel::trial_detail
