#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_data.h"
#include "run_collections.h"
#include "worker_steps.h"

namespace cupel {

/// The committed steps of a run after one refresh: how many steps of each worker there are, and
/// what follows from that. Immutable; shares what it points to.
class Snapshot {
 public:
  struct Worker {
    std::string_view name;  ///< The text lives as long as the data.
    std::shared_ptr<const trial_detail::WorkerSteps> steps;
    trial_detail::WorkerSteps::Sizes sizes;
  };

  std::shared_ptr<const trial_detail::IndexData> data;
  std::vector<Worker> workers;  ///< All known workers, worker_2 before worker_10.
  std::shared_ptr<const trial_detail::RunCollections> collections;
  /// The filter of a collection; nothing if the run has no collection of this name.
  std::optional<trial_detail::CollectionFilter> collection_filter(std::string_view name) const {
    trial_detail::CollectionFilter filter{.filter = collections->filter(name),
                                          .members = data->members.members(name)};
    if (filter.filter == nullptr && filter.members == nullptr) return std::nullopt;
    if (filter.members != nullptr) filter.member_count = filter.members->size();
    return filter;
  }
  bool ended = false;
  /// The greatest passed global step: all steps up to here count as complete. The greatest integer
  /// once the run has ended.
  std::int64_t passed = -1;
  /// The bytes of the index files that were read.
  std::uint64_t index_bytes = 0;
  /// The first step that each later attempt took back, in the order in which the source met them.
  std::vector<std::int64_t> rewinds;
};

}  // namespace cupel
