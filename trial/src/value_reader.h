#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/core/shape.h"
#include "cupel/store/store.h"
#include "cupel/trial/polling_options.h"
#include "cupel/trial/tensor_value.h"
#include "index_data.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// The saved shape of a row, else one dimension with all elements.
Shape shape_of(const RowForm& form) noexcept;

/// A row that has a raw value.
struct ValuePlace {
  const StepRows* rows;
  std::size_t row;
};

/// Reads raw values and checks them. Any thread.
///
/// Where every request costs, a value is one ranged request and nothing else, and the reader waits
/// for an object that is not there yet (PollingOptions::value_timeout).
class ValueReader {
 public:
  /// Borrows `store` and `data`.
  ValueReader(const Store& store, const IndexData& data, std::shared_ptr<const TrialClock> clock,
              const PollingOptions& options);

  /// The value of a row that has one; nothing when its events file is missing. Throws FormatError
  /// for damage.
  std::optional<TensorValue> read(const StepRows& rows, std::size_t row);
  /// The values of many rows, in their order. Values in one file are read together, and several
  /// threads read where that is faster. If several values are damaged, the error is always the
  /// same.
  std::vector<std::optional<TensorValue>> read(std::span<const ValuePlace> places);

  /// How many bytes of values to prefetch in one call, and whether values in different files may be
  /// prefetched together.
  std::uint64_t prefetch_bytes() const noexcept;
  bool reads_files_together() const noexcept { return requests_cost_; }

  /// Ends all waiting for missing objects: their values are missing.
  void stop_waiting();

 private:
  struct Task;
  using Values = std::span<std::optional<TensorValue>>;

  std::optional<bool> holds(const SegmentFiles& files, std::uint64_t offset, std::uint64_t length);
  std::optional<AlignedBuffer> memory_for(const ValuePlace& place);
  bool get(const SegmentFiles& files, std::span<Store::Range> ranges);
  class MissingValueWait;
  void read_together(std::span<const ValuePlace> places, Values values);
  std::vector<Task> tasks_of(std::span<const ValuePlace> places) const;
  std::size_t threads_for(const std::vector<Task>& tasks, std::span<const ValuePlace> places) const;

  const Store& store_;
  const IndexData& data_;
  const std::shared_ptr<const TrialClock> clock_;
  const bool requests_cost_;
  const std::size_t requests_at_once_;
  const std::chrono::milliseconds value_timeout_;

  Mutex mutex_;
  ConditionVariable stopped_;
  std::uint64_t stops_ CUPEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace cupel::trial_detail
