#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "cupel/core/mutex.h"

namespace cupel::trial_detail {

/// Performs tasks on several threads, in the order in which one thread waits for them, and limits
/// how many results wait for that thread. Prefetching, copying and verifying use it.
///
/// One thread makes the object and calls await(). Tasks run on other threads, or in await() where
/// the process may have no more threads.
class OrderedTasks {
 public:
  struct Task {
    /// Does the work; may throw.
    std::function<void()> perform;
    /// The memory of the task, from its beginning until await() is called for a later task.
    std::uint64_t bytes = 0;
  };

  /// Up to `at_once` tasks are performed at a time, with up to `most_bytes` of memory. One task is
  /// performed in any case, whatever its memory.
  OrderedTasks(std::vector<Task> tasks, std::size_t at_once, std::uint64_t most_bytes);
  /// Waits for the tasks that have begun; the others are not performed.
  ~OrderedTasks();
  OrderedTasks(const OrderedTasks&) = delete;
  OrderedTasks& operator=(const OrderedTasks&) = delete;

  /// Returns when the nth task has been performed, by the calling thread if there is no other.
  /// Earlier tasks that have not begun are not performed any more. Throws what the task threw.
  void await(std::size_t nth);

 private:
  enum class State { Waiting, UnderWay, Done };
  struct Entry {
    Task task;
    State state = State::Waiting;
    std::exception_ptr failure = nullptr;
  };

  void work();
  bool may_begin_next() const CUPEL_REQUIRES(mutex_);
  // Releases the mutex while the task runs.
  void perform(Entry& entry) CUPEL_REQUIRES(mutex_);
  void pass_over(std::size_t until) CUPEL_REQUIRES(mutex_);

  const std::size_t at_once_;
  const std::uint64_t most_bytes_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Entry> entries_ CUPEL_GUARDED_BY(mutex_);  // The number is fixed.
  // No result before this one is waited for any more.
  std::size_t wanted_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::size_t next_ CUPEL_GUARDED_BY(mutex_) = 0;  // The next task to begin.
  // The memory of tasks that run, or whose results are wanted.
  std::uint64_t bytes_ CUPEL_GUARDED_BY(mutex_) = 0;
  bool ends_ CUPEL_GUARDED_BY(mutex_) = false;

  std::vector<std::jthread> helpers_;
};

}  // namespace cupel::trial_detail
