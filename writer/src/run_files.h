#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/store/local_store.h"
#include "cupel/store/store.h"
#include "cupel/writer/hook_options.h"
#include "step_counters.h"

namespace cupel::writer_detail {

// Fills {time} and {job} in.
std::string expand_out_dir(const std::string& out_dir);

// What one worker writes of a run beside its segments: who it is, that it runs, that it has ended.
//
// Made before anything is written: takes the worker's lock, decides about a run that is already
// there, and counts the attempt.
class RunFiles {
 public:
  // `directory` is the local directory of the store, "" if it has none (then there is no lock).
  RunFiles(Store& store, const std::string& directory, const HookOptions& options);

  const std::string& run() const noexcept { return run_; }
  const std::string& worker() const noexcept { return worker_; }
  std::int32_t attempt() const noexcept { return attempt_; }

  std::string collections_key() const;
  // `at_close` are the counters of an attempt that has ended; none while it runs. So many names
  // that joined collections are `left_out` of the file.
  std::vector<std::byte> collections_file(const Collections& collections,
                                          const StepCounters& at_close,
                                          std::int64_t left_out) const;

  // Says that this worker has ended; the last of all workers says that training has. A power loss
  // may take that back, and then the run has not ended.
  void write_end();
  // Takes that back, should it have been said: there is something to add.
  void take_back_end();

 private:
  void settle_existing_run(Existing existing);
  std::int32_t first_unused_attempt() const;
  void remove_run();
  void remove_own();

  Store& store_;
  std::string worker_;
  std::int64_t num_workers_;
  std::string run_;
  std::int32_t attempt_ = 0;
  std::unique_ptr<DirectoryLock> lock_;
};

}  // namespace cupel::writer_detail
