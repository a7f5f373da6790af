#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"

namespace cupel {

/// The result of sealing segments from their files.
struct SealReport {
  std::size_t sealed = 0;                 ///< The number of segments that were sealed.
  std::size_t removed = 0;                ///< The number of files without a committed step.
  std::vector<std::string> dropped = {};  ///< Uncommitted bytes that were cut off, by file.
  std::vector<std::string> damaged =
      {};  ///< Files that cannot be sealed, with the reason; unchanged.
};

/// Seals the last segment of each attempt of one worker, whose lock the caller holds. Earlier
/// segments are sealed already.
///
/// The committed rows stay the same. Bytes behind the last committed step are removed, and so is an
/// events file without an index file where `is_elsewhere` returns true for its segment: the index
/// was uploaded by a process that was killed before it removed the values. Without `is_elsewhere`,
/// no segment is elsewhere. A call may be interrupted at any point and repeated. Throws StoreError
/// when a file cannot be read or written, StoreFull where the disk has no room for a footer.
void seal_worker(LocalStore& run, std::string_view worker, SealReport& report,
                 const std::function<bool(const SegmentName&)>& is_elsewhere = {});

/// Does the same for one segment, which no process writes any more. A segment that is sealed, or
/// has no index file, stays as it is.
void seal_segment(LocalStore& run, const SegmentName& name, SealReport& report);

/// Returns the segment that has an index or events file of this key; nothing for any other text.
std::optional<SegmentName> segment_of(std::string_view key);

/// Returns a worker's segments that are sealed and have all their values, in order. Adds to
/// `report` the damaged ones, and those that were not sealed before the next of their attempt.
std::vector<SegmentName> sealed_segments(const LocalStore& run, std::string_view worker,
                                         SealReport& report);

/// Returns the number of steps that an index file commits, without those that hold notes only; 0
/// for a file that cannot be read.
std::int64_t committed_steps(const LocalStore& run, const std::string& index_key);

}  // namespace cupel
