#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "step_counters.h"

namespace cupel::writer_detail {

/// Notes beside training's checkpoints how far the steps had been counted, so that training that is
/// resumed from them goes on counting there.
///
/// The notes are `metadata.json` in the checkpoint directory, an array of objects in the ported
/// SDK's schema. Only one worker of a run should keep them.
///
///     auto checkpoints = CheckpointMetadata::from_environment();
///     if (checkpoints) counters = checkpoints->restored().counters;
///     …
///     checkpoints->look(counters, last_saved);  // then counters.count(mode)
///
/// A metadata.json that is too large, nested too deeply or not what we write is warned of once,
/// counts as absent, and is never overwritten. One thread at a time.
class CheckpointMetadata {
 public:
  struct Restored {
    StepCounters counters;          ///< All -1 where there is nothing to go on from.
    std::int64_t training_run = 0;  ///< One more than that of the entry gone on from.
  };

  /// Of the directory that LocalPath names in the JSON file CHECKPOINT_CONFIG_FILE_PATH, by default
  /// /opt/ml/input/config/checkpointconfig.json. Nothing without the file or the key; a file that
  /// cannot be understood is nothing, too, with a warning.
  static std::optional<CheckpointMetadata> from_environment();

  /// Reads what is there; the directory need not exist yet. Throws UsageError for a name that no
  /// directory can have.
  explicit CheckpointMetadata(const std::string& directory);
  ~CheckpointMetadata();
  CheckpointMetadata(CheckpointMetadata&&) noexcept;
  CheckpointMetadata& operator=(CheckpointMetadata&&) noexcept;

  /// From the entry with the largest seen step, as it was when this was made.
  const Restored& restored() const noexcept;

  /// Notes the present state if a checkpoint file has appeared or was written anew since the last
  /// look; the first look only takes stock. Call it at each step increment.
  ///
  /// `seen` are the counters of the step that has ended, `latest_saved_global` the last step that
  /// was saved (-1: none). Other entries stay as they are; beyond 10,000 the oldest go. Of a
  /// directory with more than 10,000 entries some are not looked at. A look takes microseconds
  /// where the system notifies of changes and nothing has changed, else microseconds for each file;
  /// noting waits for the disk. A failure is one warning.
  void look(const StepCounters& seen, std::int64_t latest_saved_global) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel::writer_detail
