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

/// The committed steps of a run as one refresh left them: how many of each worker's steps there
/// are, and what follows from that. Immutable; keeps alive what it points to.
class Snapshot {
 public:
  struct Worker {
    std::string_view name;  ///< Lives as long as the data.
    std::shared_ptr<const trial_detail::WorkerSteps> steps;
    trial_detail::WorkerSteps::Sizes sizes;
  };

  std::shared_ptr<const trial_detail::IndexData> data;
  std::vector<Worker> workers;  ///< All that are known, worker_2 before worker_10.
  std::shared_ptr<const trial_detail::RunCollections> collections;
  /// What a collection selects; nothing for one that the run does not have.
  std::optional<trial_detail::CollectionFilter> collection_filter(std::string_view name) const {
    trial_detail::CollectionFilter filter{.filter = collections->filter(name),
                                          .members = data->joined.members(name)};
    if (filter.filter == nullptr && filter.members == nullptr) return std::nullopt;
    if (filter.members != nullptr) filter.joined = filter.members->size();
    return filter;
  }
  bool ended = false;
  std::int64_t passed =
      -1;  ///< Steps up to here are settled; the greatest integer once the run ended.
  std::uint64_t index_bytes = 0;
  std::vector<std::int64_t>
      rewinds;  ///< Of the run so far, in the order met: steps where attempts took over.
};

}  // namespace cupel
