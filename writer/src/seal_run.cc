// Seals all workers of a run. The locks of all of them are taken before the first change, so that a
// run that a process writes stays as it is.

#include "cupel/writer/seal_run.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/delivery/worker_lock.h"
#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"

namespace cupel {
namespace {

std::set<std::string> workers_of(const LocalStore& run) {
  std::set<std::string> workers;
  for (const ObjectInfo& info : run.list(kCollectionsPrefix))
    if (auto worker = parse_collections_key(info.key)) workers.insert(*std::move(worker));
  for (const ObjectInfo& info : run.list(kIndexPrefix))
    if (auto name = SegmentName::parse_index_key(info.key)) workers.insert(std::move(name->worker));
  for (const ObjectInfo& info : run.list(kEventsPrefix))
    if (auto name = segment_of(info.key)) workers.insert(std::move(name->worker));
  return workers;
}

}  // namespace

SealReport seal_run(const std::string& directory) {
  LocalStore run(directory);
  const std::set<std::string> workers = workers_of(run);
  if (workers.empty()) throw MissingCollectionFiles(run.location());
  std::vector<std::unique_ptr<WorkerLock>> locks;
  for (const std::string& worker : workers) {
    auto lock = WorkerLock::try_acquire(run.location(), worker);
    if (lock == nullptr)
      throw UsageError("a process is writing this run: " + run.location() + ", " + worker);
    locks.push_back(std::move(lock));
  }
  SealReport report;
  for (const std::string& worker : workers) seal_worker(run, worker, report);
  // A lock file of a killed writer stays: it shows that the run was interrupted.
  for (const auto& lock : locks)
    if (!lock->file_was_there()) lock->remove_file();
  return report;
}

}  // namespace cupel
