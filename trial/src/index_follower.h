#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/layout.h"
#include "cupel/store/store.h"
#include "cupel/trial/trial.h"
#include "index_data.h"
#include "index_walk.h"
#include "run_collections.h"
#include "run_look.h"
#include "worker_order.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// Reads the index files of a run as they appear, grow, are sealed and are followed by others.
///
/// Owned by the thread that refreshes. A StoreError leaves everything as far as it had come; the
/// next call goes on there. Damage ends the attempt of its worker at that place; the rest of the
/// run is still read.
class IndexFollower {
 public:
  /// What is known of one worker's committed steps.
  struct Worker {
    std::shared_ptr<WorkerSteps> steps = std::make_shared<WorkerSteps>();
    std::int64_t progress = -1;  ///< The last committed step, whether loaded or not.
    std::int32_t attempt = -1;   ///< Whose rows come now; -1: none were committed yet.

   private:
    friend class IndexFollower;
    struct Segment;
    std::map<std::string, Segment> open_;  // by key: listed, and may still change
    std::string newest_key_;               // listed
    std::string newest_done_;              // before which all is done with
    std::optional<std::int32_t> damaged_attempt_;
    std::int32_t numbered_attempt_ = -1;
    std::optional<std::int64_t> next_number_;          // of its segments, where that is known
    std::optional<std::uint32_t> collections_crc32c_;  // named by the segment before
    std::string run_;                                  // of the files of run_attempt_
    std::int32_t run_attempt_ = -1;
    std::size_t new_collections_ = 0;  // that rows of the attempt named first of all rows
    std::shared_ptr<const LayoutInterner::Entry> layout_hint_;
    std::unordered_map<const NameLayout*, std::pair<const RowBlock*, std::uint32_t>> last_rows_;
  };
  using Workers = std::map<std::string, Worker, WorkerOrder>;

  /// Borrows all of it.
  IndexFollower(const Store& store, RunLook& look, const TrialClock& clock, IndexData& data,
                const TrialOptions& options);
  ~IndexFollower();

  /// Of each known worker the key behind which its files are to be listed.
  std::vector<std::string> listing_begins() const;

  /// Reads what the look finds; true if steps came or went. `run_ended`: the end marker was seen
  /// before.
  bool follow(bool run_ended, const RunCollections& collections);

  /// Whether steps were read that may need other collections files than those that were known, or
  /// damage was met that these may explain.
  bool needs_collections() const noexcept { return needs_collections_; }
  void collections_were_read() noexcept { needs_collections_ = false; }

  /// `progress` is told how many bytes of how many listed ones were taken.
  void tell_progress(std::function<void(std::uint64_t done, std::uint64_t total)> progress) {
    progress_ = std::move(progress);
  }

  const Workers& workers() const noexcept { return workers_; }
  /// In the order met.
  const std::vector<FormatError>& damage() const noexcept { return damage_; }
  /// For each time that a new attempt took back steps that had been there: the first of them.
  const std::vector<std::int64_t>& rewinds() const noexcept { return rewinds_; }
  std::uint64_t index_bytes() const noexcept { return index_bytes_; }

 private:
  using Segment = Worker::Segment;

  struct MissesPredecessor {};

  void list_new();
  bool add_listed(const std::vector<ObjectInfo>& listed);
  std::vector<ObjectInfo> unread_files() const;
  void follow_worker(Worker& worker, bool run_ended, std::int32_t newest_attempt);
  void look_again(Worker& worker, Segment& segment);
  void read(Worker& worker, Segment& segment, ObjectInfo info);
  void note_size(Segment& segment, std::uint64_t size);
  WalkEnd read_to(Worker& worker, Segment& segment, std::uint64_t size);
  bool outside_range(const Segment& segment, const Segment* next) const noexcept;
  void pass_over(Worker& worker, const Segment& segment);
  void check_beginning(Worker& worker, Segment& segment);
  void check_run(Worker& worker, const Segment& segment);
  static void check_number(Worker& worker, Segment& segment);
  void check_collections(Worker& worker, const Segment& segment);
  void take(Worker& worker, Segment& segment, const IndexBatch& batch);
  void take_step(Worker& worker, Segment& segment, const IndexBatch& batch, std::size_t first,
                 std::size_t last);
  void begin_attempt(Worker& worker, std::int32_t attempt, std::int64_t step);
  void take_joined(Worker& worker, const Segment& segment, const IndexBatch& batch,
                   std::size_t first, std::size_t last);
  void fill_forms(Worker& worker, const IndexBatch& batch, const StepRows& rows);

  const Store& store_;
  RunLook& look_;
  const TrialClock& clock_;
  IndexWalker walker_;
  IndexData& data_;
  const std::int64_t range_begin_, range_end_;
  Workers workers_;
  std::vector<FormatError> damage_;
  std::vector<std::int64_t> rewinds_;
  std::uint64_t index_bytes_ = 0;
  std::function<void(std::uint64_t, std::uint64_t)> progress_;
  std::uint64_t listed_bytes_ = 0;
  bool news_ = false;
  const RunCollections* collections_ = nullptr;  // as they were before the look
  bool needs_collections_ = false;
  RowBlock* block_ = nullptr;  // of the batch being taken
};

}  // namespace cupel::trial_detail
