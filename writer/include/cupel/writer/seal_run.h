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

/// What sealing has done to a run.
struct SealReport {
  std::size_t sealed = 0;            ///< Segments.
  std::size_t removed = 0;           ///< Files that held no committed step.
  std::vector<std::string> dropped;  ///< What was cut off, by file: it had not been committed.
  std::vector<std::string> damaged;  ///< What could not be sealed, and why; left as it is.
};

/// Seals what killed writers have left of a run in a directory: their last segments, which then are
/// plain Arrow files as all others are.
///
/// The rows stay the same. What lies behind the last committed step, torn or not, goes. A file that
/// is damaged is told and left alone, the others are sealed. May be interrupted at any point, and
/// called again.
///
/// Throws UsageError, before anything is changed, while a process writes the run;
/// MissingCollectionFiles where there is none; StoreError when a file cannot be read or written.
SealReport seal_run(const std::string& directory);

/// The same for the segments of one worker, whose lock the caller holds. Values without an index go
/// if they are `elsewhere`, as those are that were uploaded by a process that was killed before it
/// removed them. Null: nothing is.
void seal_worker(LocalStore& run, std::string_view worker, SealReport& report,
                 const std::function<bool(const SegmentName&)>& elsewhere = {});

/// The same for one segment, with an index file, that no process writes any more.
void seal_segment(LocalStore& run, const SegmentName& name, SealReport& report);

/// The segment whose index or values have this key; nothing for any other text.
std::optional<SegmentName> segment_of(std::string_view key);

/// A worker's segments that are sealed and have all their values, in order. Sealed ones that are
/// damaged are told, and those that were not sealed before the attempt's next was begun.
std::vector<SegmentName> sealed_segments(const LocalStore& run, std::string_view worker,
                                         SealReport& report);

/// How many steps an index file commits, without those of the hook itself, as far as it can be
/// read.
std::int64_t committed_steps(const LocalStore& run, const std::string& index_key);

}  // namespace cupel
