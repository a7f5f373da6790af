#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "snapshot.h"
#include "snapshot_view.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// The rows of one worker at a step.
struct StepPart {
  const StepRows* rows = nullptr;
  std::uint32_t worker = 0;  ///< Index into SnapshotView::workers().
};

/// Merges the steps of all workers in rising order. Each step has the parts of the workers that
/// saved it, in the order of the workers.
class StepMerge {
 public:
  /// Merges the global steps begin <= step <= last of one worker, or of all ("").
  StepMerge(const SnapshotView& view, std::int64_t begin, std::int64_t last,
            std::string_view worker = {});

  /// The parts of the next step; empty at the end.
  std::span<const StepPart> next();

 private:
  struct Cursor {
    const WorkerSteps* steps;
    std::size_t next, end;
    std::uint32_t worker;
  };
  std::vector<Cursor> cursors_;
  std::vector<StepPart> parts_;
};

}  // namespace cupel::trial_detail
