#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "collection_members.h"
#include "names.h"
#include "rows.h"
#include "run_collections.h"
#include "stable_vector.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// The rows of a run, which all its snapshots share. It only grows: the refreshing thread adds, and
/// other threads read what their snapshot shows.
struct IndexData {
  NameTable names;
  FormTable forms;
  LayoutInterner layouts{names};
  MemberTable members;
  std::deque<RowBlock> blocks;
  StableVector<SegmentFiles> files;
  std::set<std::string, std::less<>> worker_names;
  mutable PatternFilters patterns;
};

}  // namespace cupel::trial_detail
