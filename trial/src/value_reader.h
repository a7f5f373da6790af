#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cupel/core/shape.h"
#include "cupel/store/store.h"
#include "cupel/trial/tensor_value.h"
#include "cupel/trial/trial.h"
#include "index_data.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// The shape of a row: the saved one, else a flat one.
Shape shape_of(const RowForm& form) noexcept;

/// A row that has a raw value.
struct ValuePlace {
  const StepRows* rows;
  std::size_t row;
};

/// Reads raw values and checks them. Any thread.
///
/// Where every request costs, a value is one ranged read and nothing else, and one whose object is
/// not there yet is waited for.
class ValueReader {
 public:
  /// Borrows store and data.
  ValueReader(const Store& store, const IndexData& data, std::shared_ptr<const TrialClock> clock,
              const TrialOptions& options);

  /// The value of a row that has one; nothing when the events file is not there. Throws FormatError
  /// for damage.
  std::optional<TensorValue> read(const StepRows& rows, std::size_t row);
  /// The same of many rows, in their order; what lies in one file is read together, several threads
  /// read where that is worth it. Of several damages it is always the same one that is thrown.
  std::vector<std::optional<TensorValue>> read(std::span<const ValuePlace> places);

  /// How many bytes of values are best asked for at one time by somebody who wants to have some in
  /// hand, and whether that goes for values in different files.
  std::uint64_t bytes_ahead() const noexcept;
  bool reads_files_together() const noexcept { return requests_cost_; }

  /// Ends the waiting that is going on: what is missing stays missing.
  void stop_waiting();

 private:
  struct Task;
  using Values = std::span<std::optional<TensorValue>>;

  std::optional<bool> holds(const SegmentFiles& files, std::uint64_t offset, std::uint64_t length);
  std::optional<AlignedBuffer> memory_for(const ValuePlace& place);
  bool get(const SegmentFiles& files, std::span<Store::Range> ranges);
  class Patience;
  void read_together(std::span<const ValuePlace> places, Values values);
  std::vector<Task> tasks_of(std::span<const ValuePlace> places) const;
  std::size_t threads_for(const std::vector<Task>& tasks, std::span<const ValuePlace> places) const;

  const Store& store_;
  const IndexData& data_;
  const std::shared_ptr<const TrialClock> clock_;
  const bool requests_cost_;
  const std::size_t requests_at_once_;
  const std::chrono::milliseconds patience_;

  std::mutex mutex_;
  std::condition_variable stopped_;
  std::uint64_t stops_ = 0;  // guarded by mutex_
};

}  // namespace cupel::trial_detail
