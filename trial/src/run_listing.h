#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cupel/format/collections_file.h"
#include "cupel/format/layout.h"
#include "cupel/store/store.h"

namespace cupel::trial_detail {

/// The segments of a run by worker, in the order in which they were begun.
struct RunListing {
  struct Segment {
    SegmentName name;
    std::uint64_t size = 0;  ///< Of the index file.
  };
  std::map<std::string, std::vector<Segment>> workers;
  std::vector<std::string> foreign;  ///< Keys below index/ that are not those of index files.

  /// What is there now; a segment that is sealed meanwhile is not overlooked.
  static RunListing read(const Store& store);
};

/// Throws UsageError, saying of what it is the destination, unless the store is empty.
void require_empty_destination(const Store& to, const std::string& of);

/// How many workers the newest attempt of a run says it has.
std::int64_t num_workers_of(const std::map<std::string, CollectionsFile>& files);

}  // namespace cupel::trial_detail
