#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "cupel/format/index_reader.h"
#include "cupel/trial/step_range.h"
#include "cupel/trial/trial_clock.h"
#include "index_data.h"
#include "index_source.h"

namespace cupel::trial_detail {

/// Calls `visit(first, last)` for the rows [first, last) of each step of a batch, in order.
template <class Visit>
void for_each_step(const IndexBatch& batch, Visit&& visit) {
  for (std::size_t first = 0; first < batch.rows;) {
    std::size_t last = first + 1;
    while (last < batch.rows && batch.step[last] == batch.step[first]) ++last;
    visit(first, last);
    first = last;
  }
}

/// Appends the rows of batches to the index of a run, worker by worker: the part of an IndexSource
/// that all formats share. One thread.
///
/// A batch is copied once, column by column, when the first of its steps is appended. Damage in a
/// batch is FormatError; the steps before it are appended.
class IndexBuilder {
 public:
  /// The file that rows come from, and the file of their values.
  struct Origin {
    std::string index_key;                ///< Named by errors.
    std::string events_key;               ///< Values that are not inline are read from this object.
    const SegmentFiles* files = nullptr;  ///< Made with the first rows.
  };

  /// Borrows `state`, `data` and `clock`. Steps outside `range` are not appended.
  IndexBuilder(IndexState& state, IndexData& data, const TrialClock& clock, const StepRange& range);
  ~IndexBuilder();

  std::int64_t range_begin() const noexcept { return range_begin_; }
  std::int64_t range_end() const noexcept { return range_end_; }

  /// Begins a batch: append_step() takes rows of this batch until the next call.
  void begin_batch() noexcept { block_ = nullptr; }
  /// Appends the rows [first, last) of one step, which `worker` committed in `attempt`. Rows of an
  /// attempt that is over are left out. Throws FormatError where the step is not behind the
  /// worker's last one, or rows name too many collections.
  void append_step(const std::string& worker, std::int32_t attempt, Origin& origin,
                   const IndexBatch& batch, std::size_t first, std::size_t last);
  /// Begins an attempt that is newer than the worker's, at `step`: hides what earlier attempts
  /// committed from there on. Does nothing for an older attempt.
  void begin_attempt(const std::string& worker, std::int32_t attempt, std::int64_t step);
  /// The worker is known to have committed `step`, though its rows are not appended.
  void advance(const std::string& worker, std::int64_t step);

  /// Whether steps came, or were taken back, since the previous call.
  bool take_news() noexcept { return std::exchange(news_, false); }

 private:
  /// The state of a worker that one step leaves for the next.
  struct Memory;

  Memory& memory_of(const std::string& worker);
  void begin_attempt(Memory& worker, std::int32_t attempt, std::int64_t step);
  void add_members(Memory& worker, const Origin& origin, const IndexBatch& batch, std::size_t first,
                   std::size_t last);
  void fill_forms(Memory& worker, const IndexBatch& batch, const StepRows& rows);

  IndexState& state_;
  IndexData& data_;
  const TrialClock& clock_;
  const std::int64_t range_begin_, range_end_;
  std::map<std::string, std::unique_ptr<Memory>, std::less<>> workers_;
  Memory* last_worker_ = nullptr;  // of the step before
  RowBlock* block_ = nullptr;      // the copy of the batch; null before its first step
  bool news_ = false;
};

}  // namespace cupel::trial_detail
