#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cupel/core/mutex.h"
#include "operator_table.h"

namespace cupel::libtorch_detail {

/// Sees the outermost operators of all threads while somebody listens: those that are not within
/// another recorded function, a backward pass for example.
///
/// Calls come on the thread that runs the operator. Operators that a call runs itself are ignored.
class OperatorObserver {
 public:
  virtual ~OperatorObserver() = default;
  /// An operator begins. `thread` is the same for all calls of a thread, and another one for every
  /// other living thread. `row` is null for an operator that is not known, which is passed on only
  /// while outputs are pending. Returns whether operator_ends() shall be called.
  virtual bool operator_begins(const void* thread, const OperatorRow* row,
                               std::span<const c10::IValue> inputs) noexcept = 0;
  /// The operator has ended; it threw if there are no outputs. Returns whether outputs are pending:
  /// then the thread's next operator is passed on whatever it is.
  virtual bool operator_ends(const void* thread, std::span<const c10::IValue> outputs) noexcept = 0;
};

using OperatorObservers = std::vector<std::shared_ptr<OperatorObserver>>;

/// The process's only callback of at::RecordFunction, for all observers.
///
/// All functions may be called from any thread. An observer may be called by another thread while
/// remove() returns; it lives until that thread has seen the removal, or has ended.
class OperatorListener {
 public:
  /// The listener of this process, which is never deleted. The child of a fork has one of its own.
  static OperatorListener& instance() noexcept;

  void add(std::shared_ptr<OperatorObserver> observer);
  void remove(const OperatorObserver& observer) noexcept;
  /// Changes with the observers; no two listeners of a process and its children have the same.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  OperatorObservers observers() const;

  /// Counts those who listen. Torch's callback is on while there is somebody; each `true` needs a
  /// `false`.
  void switch_listening(bool on);

  OperatorListener(const OperatorListener&) = delete;
  OperatorListener& operator=(const OperatorListener&) = delete;

 private:
  OperatorListener();
  static void renew_after_fork();

  mutable Mutex mutex_;
  OperatorObservers observers_ CUPEL_GUARDED_BY(mutex_);
  std::size_t listening_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> version_;
};

}  // namespace cupel::libtorch_detail
