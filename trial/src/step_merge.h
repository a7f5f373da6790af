#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reading.h"
#include "snapshot.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// What one worker saved at a step.
struct StepPart {
  const StepRows* rows = nullptr;
  std::uint32_t worker = 0;  ///< Index into Reading::workers().
};

/// The steps of all workers together in rising order, each with the parts of those who saved it, in
/// the order of the workers.
class StepMerge {
 public:
  /// Global steps begin <= step <= last, of one worker or ("") of all.
  StepMerge(const Reading& reading, std::int64_t begin, std::int64_t last,
            std::string_view worker = {});

  /// The parts of the next step; none at the end.
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
