#include "work_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace cupel::trial_detail {

namespace {

// So many tasks for each thread may be done and wait to be asked for, or be under way.
constexpr std::size_t kMostForEach = 2;

}  // namespace

WorkAhead::WorkAhead(std::vector<Task> tasks, std::size_t at_once, std::uint64_t most_bytes)
    : at_once_(std::max<std::size_t>(at_once, 1)), most_bytes_(most_bytes) {
  entries_.reserve(tasks.size());
  for (Task& task : tasks) entries_.push_back({std::move(task)});
  const std::size_t threads = std::min(at_once_, entries_.size());
  if (threads < 2) return;
  try {
    while (helpers_.size() < threads) helpers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // of a process that may have no more threads
  }
}

WorkAhead::~WorkAhead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  helpers_.clear();
}

/// Called under the lock.
bool WorkAhead::may_begin_next() const {
  if (next_ == wanted_) return true;
  return next_ - wanted_ < kMostForEach * at_once_ &&
         bytes_ + entries_[next_].task.bytes <= most_bytes_;
}

void WorkAhead::perform(Entry& entry, std::unique_lock<std::mutex>& lock) {
  entry.state = State::UnderWay;
  bytes_ += entry.task.bytes;
  lock.unlock();
  std::exception_ptr failure;
  try {
    entry.task.perform();
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  entry.failure = failure;
  entry.state = State::Done;
  const auto nth = static_cast<std::size_t>(&entry - entries_.data());
  if (nth < wanted_) bytes_ -= entry.task.bytes;
  changed_.notify_all();
}

void WorkAhead::work() {
  std::unique_lock lock(mutex_);
  while (!ends_ && next_ < entries_.size()) {
    if (may_begin_next())
      perform(entries_[next_++], lock);
    else
      changed_.wait(lock);
  }
}

/// Called under the lock.
void WorkAhead::pass_over(std::size_t until) {
  for (; wanted_ < until; ++wanted_)
    if (entries_[wanted_].state == State::Done) bytes_ -= entries_[wanted_].task.bytes;
  next_ = std::max(next_, wanted_);
  changed_.notify_all();
}

void WorkAhead::await(std::size_t nth) {
  std::unique_lock lock(mutex_);
  pass_over(nth);
  Entry& entry = entries_[nth];
  if (entry.state == State::Waiting && helpers_.empty()) {
    next_ = nth + 1;
    perform(entry, lock);
  }
  changed_.wait(lock, [&] { return entry.state == State::Done; });
  if (entry.failure) std::rethrow_exception(entry.failure);
}

}  // namespace cupel::trial_detail
