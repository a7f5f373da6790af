#include "run_listing.h"

#include <algorithm>

#include "cupel/core/error.h"

namespace cupel::trial_detail {

RunListing RunListing::read(const Store& store) {
  std::map<SegmentName, std::uint64_t> segments;
  std::set<std::string> foreign;
  const auto list = [&] {
    for (const ObjectInfo& info : store.list(kIndexPrefix)) {
      if (const auto name = SegmentName::parse_index_key(info.key)) {
        segments.try_emplace(*name, info.size);
      } else {
        foreign.insert(info.key);
      }
    }
  };
  list();
  // The listing of a directory may miss a file that is being renamed meanwhile.
  if (store.can_append()) list();

  RunListing listing;
  for (const auto& [name, size] : segments) listing.workers[name.worker].push_back({name, size});
  listing.foreign.assign(foreign.begin(), foreign.end());
  return listing;
}

void require_empty_destination(const Store& to, const std::string& of) {
  const auto there = to.list("");
  if (there.empty()) return;
  throw UsageError("The destination of " + of + " must be empty or not there: " + to.location() +
                   " holds " + there.front().key +
                   (there.size() > 1 ? " and " + std::to_string(there.size() - 1) + " more" : ""));
}

std::int64_t num_workers_of(const std::map<std::string, CollectionsFile>& files) {
  std::int64_t num_workers = 0;
  std::int32_t newest_attempt = -1;
  for (const auto& [worker, file] : files) {
    if (file.attempt > newest_attempt) num_workers = 0;
    newest_attempt = std::max(newest_attempt, file.attempt);
    if (file.attempt == newest_attempt) num_workers = std::max(num_workers, file.num_workers);
  }
  return num_workers;
}

}  // namespace cupel::trial_detail
