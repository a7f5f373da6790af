#include "step_merge.h"

#include <algorithm>
#include <limits>

namespace cupel::trial_detail {

StepMerge::StepMerge(const SnapshotView& view, std::int64_t begin, std::int64_t last,
                     std::string_view worker) {
  if (begin > last) return;
  for (std::uint32_t w = 0; w < view.workers().size(); ++w) {
    const Snapshot::Worker& one = view.workers()[w];
    if (!worker.empty() && one.name != worker) continue;
    const std::size_t end = one.steps->count_until(last, one.sizes.steps);
    const std::size_t first = begin <= 0 ? 0 : one.steps->count_until(begin - 1, end);
    if (first < end) cursors_.push_back({one.steps.get(), first, end, w});
  }
}

std::span<const StepPart> StepMerge::next() {
  parts_.clear();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Cursor& cursor : cursors_)
    if (cursor.next < cursor.end) least = std::min(least, cursor.steps->step(cursor.next).step);
  for (Cursor& cursor : cursors_) {
    if (cursor.next == cursor.end) continue;
    const StepRows& rows = cursor.steps->step(cursor.next);
    if (rows.step != least) continue;
    parts_.push_back({&rows, cursor.worker});
    ++cursor.next;
  }
  return parts_;
}

}  // namespace cupel::trial_detail
