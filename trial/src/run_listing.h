#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cupel/core/natural_order.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/layout.h"
#include "cupel/store/store.h"

namespace cupel::trial_detail {

/// The segments of a run by worker, in the order in which the worker began them.
struct RunListing {
  struct Segment {
    SegmentName name;
    std::uint64_t size = 0;  ///< The bytes of the index file.
  };
  std::map<std::string, std::vector<Segment>, NaturalOrder> workers;
  std::vector<std::string> foreign;  ///< Keys below index/ that are not keys of index files.

  /// Lists what is there now, also segments that are sealed meanwhile.
  static RunListing read(const Store& store);
};

/// Throws UsageError unless the store is empty. `of` is what the store is the destination of.
void require_empty_destination(const Store& to, const std::string& of);

/// The number of workers of the newest attempt of a run.
std::int64_t num_workers_of(const std::map<std::string, CollectionsFile>& files);

}  // namespace cupel::trial_detail
