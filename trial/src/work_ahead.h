#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cupel::trial_detail {

/// Performs tasks on several threads in the order in which somebody will ask for them, and no
/// further ahead of him than is good. Of one thread, which asks.
class WorkAhead {
 public:
  struct Task {
    std::function<void()> perform;
    std::uint64_t bytes = 0;  ///< Of memory, from when it begins until a later one is asked for.
  };

  /// At least one task is performed at a time, whatever its memory.
  WorkAhead(std::vector<Task> tasks, std::size_t at_once, std::uint64_t most_bytes);
  ~WorkAhead();  ///< Waits for what is under way; nothing else begins.
  WorkAhead(const WorkAhead&) = delete;
  WorkAhead& operator=(const WorkAhead&) = delete;

  /// Returns when the nth task was performed: by the calling thread where there is no other. Those
  /// before it are not asked for any more, and do not begin. Throws what the task threw.
  void await(std::size_t nth);

 private:
  enum class State { Waiting, UnderWay, Done };
  struct Entry {
    Task task;
    State state = State::Waiting;
    std::exception_ptr failure = nullptr;
  };

  void work();
  bool may_begin_next() const;
  void perform(Entry& entry, std::unique_lock<std::mutex>& lock);
  void pass_over(std::size_t until);

  const std::size_t at_once_;
  const std::uint64_t most_bytes_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;  // their number is fixed; guarded by mutex_, as is all that follows
  std::size_t wanted_ = 0;      // those before it are not
  std::size_t next_ = 0;        // to begin
  std::uint64_t bytes_ = 0;     // of what is under way, or done and wanted
  bool ends_ = false;

  std::vector<std::jthread> helpers_;
};

}  // namespace cupel::trial_detail
