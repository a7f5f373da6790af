#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/reduction.h"
#include "cupel/delivery/run_delivery.h"
#include "cupel/store/store.h"
#include "cupel/writer/hook_options.h"
#include "run_files.h"
#include "segment_writer.h"
#include "step_counters.h"
#include "stop_watch.h"
#include "tensor_groups.h"

namespace cupel::writer_detail {

// The store that options.out_dir names; where somebody else uploads, the directory of the spool.
// Throws OutDirError without an out_dir, and StoreError.
std::shared_ptr<Store> open_store_of_run(const HookOptions& options);

// What deliver() has not brought to the store, and what else went wrong with that.
struct Delivery {
  std::vector<std::string> problems;
  std::int64_t steps_left = 0;
  std::uint64_t bytes_left = 0;
};

// Where a hook writes its run: the store, with the spool in front of a store that cannot append,
// the worker's lock and files, and the way by which requests to stop come back.
//
// The steps of a run are written by a SegmentWriter to store(), by segment_policy(). Everything
// else that a hook does with its store is done here. One thread, but for stop_requested() and
// halt().
class RunOutput {
 public:
  using Clock = std::chrono::steady_clock;

  // Opens the store, or takes `into`; takes the worker's lock, settles what becomes of a run that
  // is already there, and counts the attempt. Throws UsageError for a run that must not be reused
  // and for a second writer of the same worker; StoreError. The options outlive the output.
  RunOutput(const HookOptions& options, std::shared_ptr<Store> into);
  ~RunOutput();
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  // The store that segments are written to.
  Store& store() noexcept { return delivery_ ? delivery_->run() : *store_; }
  std::int32_t attempt() const noexcept { return files_->attempt(); }
  // What earlier attempts of the worker left: the counters, and the last step of the index.
  StepCounters last_steps();
  std::int64_t last_saved_step();

  // The worker is about to write: uploads of what an earlier process left begin.
  void begin();

  // Whether a step that begins has room. A full spool has none.
  bool has_room() const noexcept { return !delivery_ || delivery_->has_room(); }
  SegmentPolicy segment_policy(const ReductionSet& columns, std::uint32_t collections_crc32c);

  // Writes the collections file: the configuration, and as much of what calls put into collections
  // as there is room for, since the index has all of that. `at_close` are the counters of an
  // attempt that has ended, all -1 before. Returns the file's checksum. Throws UsageError, before
  // anything is written, where readers would not take the file.
  std::uint32_t write_collections(const TensorGroups& groups, const StepCounters& at_close);
  // The same at the end of an attempt, and the end of the run for this worker. A full spool costs
  // what it has no room for and not the run: false then. Where there is no spool, StoreFull.
  bool write_last_collections(const TensorGroups& groups, const StepCounters& at_close);
  bool write_end();
  // Takes the end back, should it have been written: there is something to add.
  void take_back_end();

  // The text of a note for readers of the run if uploads have fallen behind, or have caught up,
  // since the last call.
  std::optional<std::string> news_of_uploads(std::int64_t step);

  // From `until` on, nothing waits for room in the spool.
  void stop_waiting_at(Clock::time_point until);
  // Waits until the store has what is in the spool, until `until` at most. What it did not take
  // stays in the spool. Nothing may be written afterwards.
  Delivery deliver(Clock::time_point until) noexcept;
  // Begins no further request: the process exits.
  void halt() noexcept;

  StopWatch& stop_watch() noexcept { return *stop_watch_; }

 private:
  void open_delivery(bool owns_store);
  // The run that is there, before begin().
  Store& run_at_start();
  std::chrono::milliseconds segment_age() const;
  template <class Write>
  bool fits(Write&& write);
  void add_not_uploaded(const NotUploaded& left, Delivery& delivery) const;
  void add_failure(const char* why, Delivery& delivery) noexcept;

  const HookOptions& options_;
  std::shared_ptr<Store> store_;         // the run's, perhaps a remote one
  std::optional<RunDelivery> delivery_;  // to a store that cannot append
  std::optional<StopWatch> stop_watch_;
  std::optional<RunFiles> files_;
  bool is_closing_ = false;
  std::optional<Clock::time_point> behind_since_;  // uploads, as the last note said
};

}  // namespace cupel::writer_detail
