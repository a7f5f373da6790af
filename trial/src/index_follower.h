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
    std::string run_;  // of the files of run_attempt_
    std::int32_t run_attempt_ = -1;
    std::shared_ptr<const LayoutInterner::Entry> layout_hint_;
    std::unordered_map<const NameLayout*, std::pair<const RowBlock*, std::uint32_t>> last_rows_;
  };
  using Workers = std::map<std::string, Worker, WorkerOrder>;

  IndexFollower(const Store& store, IndexData& data, StepRange range);
  ~IndexFollower();

  /// Reads what is there; true if steps came or went. `run_ended`: the end marker was seen before.
  /// With as many workers known as the run has, older keys are not listed again.
  bool follow(bool run_ended, const RunCollections& collections);

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

  void list_new(std::size_t expected_workers);
  bool add_listed(const std::vector<ObjectInfo>& listed);
  void follow_worker(Worker& worker, bool run_ended, std::int32_t newest_attempt);
  void look_again(Worker& worker, Segment& segment);
  void read(Worker& worker, Segment& segment, ObjectInfo info);
  void note_size(Segment& segment, std::uint64_t size);
  WalkEnd read_to(Worker& worker, Segment& segment, std::uint64_t size);
  bool outside_range(const Segment& segment, const Segment* next) const noexcept;
  void pass_over(Worker& worker, const Segment& segment);
  static void check_run(Worker& worker, const Segment& segment);
  void take(Worker& worker, Segment& segment, const IndexBatch& batch);
  void take_step(Worker& worker, Segment& segment, const IndexBatch& batch, std::size_t first,
                 std::size_t last);
  void begin_attempt(Worker& worker, std::int32_t attempt, std::int64_t step);
  void fill_forms(Worker& worker, const IndexBatch& batch, const StepRows& rows);

  const Store& store_;
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
  RowBlock* block_ = nullptr;  // of the batch being taken
};

}  // namespace cupel::trial_detail
