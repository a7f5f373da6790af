#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/delivery/segment_events.h"
#include "cupel/delivery/worker_lock.h"
#include "cupel/store/store.h"
#include "cupel/writer/hook_options.h"
#include "step_counters.h"

namespace cupel::writer_detail {

// Fills {time} and {job} in.
std::string expand_out_dir(const std::string& out_dir);

// Throws OutDirError for a finished run in the store, unless `existing` allows to write into it.
void refuse_finished_run(const Store& store, Existing existing);

// The files of one worker beside its segments: the lock, the collections file, the end of the run.
//
// Made before anything is written: takes the worker's lock, decides about a run that is already
// there, and counts the attempt. One thread.
class RunFiles {
 public:
  // The stores of a run. They outlive the RunFiles.
  struct Stores {
    Store& at_start;  // the run that is there, which the constructor reads and removes from
    Store& run;       // the run that is written
    SegmentEvents* events = nullptr;  // where `run` is delivered to another store
  };

  // The order in which the workers of a run begin. ChiefFirst: no worker has ended before the chief
  // begins, which removes the markers of all workers. Any: each worker removes its own marker only.
  enum class WorkerOrder { ChiefFirst, Any };

  // `directory` is the local directory of the store, "" if it has none; then there is no lock.
  // Throws UsageError for a finished run that must not be reused, and for a second writer of the
  // same worker; StoreError.
  RunFiles(const Stores& stores, const std::string& directory, const HookOptions& options,
           WorkerOrder order = WorkerOrder::ChiefFirst);

  const std::string& run() const noexcept { return run_; }
  const std::string& worker() const noexcept { return worker_; }
  std::int32_t attempt() const noexcept { return attempt_; }

  // Returns the bytes of a collections file. `at_close` are the counters of an attempt that has
  // ended; none while it runs. `left_out` is the number of names that joined collections and are
  // not in the file.
  std::vector<std::byte> collections_file(const Collections& collections,
                                          const StepCounters& at_close,
                                          std::int64_t left_out) const;
  // Writes the collections file. Waits for room in a spool only if `waits_for_room`.
  void write_collections(std::span<const std::byte> file, Durability durability,
                         bool waits_for_room);

  // Writes that this worker has ended (cupel/delivery/end_of_run.h). Waits for room in a spool.
  void write_end();
  // Removes what write_end() may have written: there is something to add to the run.
  void take_back_end();

 private:
  void settle_existing_run(Store& store, Existing existing, WorkerOrder order);
  std::int32_t first_unused_attempt(const Store& store) const;
  void remove_own_segments(Store& store);

  Store& store_;
  SegmentEvents* const events_;
  std::string worker_;
  std::int64_t num_workers_;
  std::string run_;
  std::int32_t attempt_ = 0;
  std::unique_ptr<WorkerLock> lock_;
};

}  // namespace cupel::writer_detail
