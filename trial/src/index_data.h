#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "joined_tensors.h"
#include "names.h"
#include "rows.h"
#include "run_collections.h"
#include "stable_vector.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// All that has been read of a run and is shared by its snapshots: only ever added to, by the
/// refreshing thread.
struct IndexData {
  NameTable names;
  FormTable forms;
  LayoutInterner layouts{names};
  JoinedTensors joined;
  std::deque<RowBlock> blocks;
  StableVector<SegmentFiles> files;
  std::set<std::string, std::less<>> worker_names;
  mutable PatternFilters patterns;
};

}  // namespace cupel::trial_detail
