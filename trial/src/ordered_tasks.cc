#include "ordered_tasks.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "cupel/core/mutex.h"

namespace cupel::trial_detail {

namespace {

// So many tasks for each thread may run, or be done while nobody has waited for them yet.
constexpr std::size_t kMostForEach = 2;

}  // namespace

OrderedTasks::OrderedTasks(std::vector<Task> tasks, std::size_t at_once, std::uint64_t most_bytes)
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

OrderedTasks::~OrderedTasks() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  helpers_.clear();
}

bool OrderedTasks::may_begin_next() const {
  if (next_ == wanted_) return true;
  return next_ - wanted_ < kMostForEach * at_once_ &&
         bytes_ + entries_[next_].task.bytes <= most_bytes_;
}

void OrderedTasks::perform(Entry& entry) {
  entry.state = State::UnderWay;
  bytes_ += entry.task.bytes;
  std::exception_ptr failure;
  {
    const MutexUnlock unlocked(mutex_);
    try {
      entry.task.perform();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  entry.failure = failure;
  entry.state = State::Done;
  const auto nth = static_cast<std::size_t>(&entry - entries_.data());
  if (nth < wanted_) bytes_ -= entry.task.bytes;
  changed_.notify_all();
}

void OrderedTasks::work() {
  MutexLock lock(mutex_);
  while (!ends_ && next_ < entries_.size()) {
    if (may_begin_next())
      perform(entries_[next_++]);
    else
      changed_.wait(lock);
  }
}

void OrderedTasks::pass_over(std::size_t until) {
  for (; wanted_ < until; ++wanted_)
    if (entries_[wanted_].state == State::Done) bytes_ -= entries_[wanted_].task.bytes;
  next_ = std::max(next_, wanted_);
  changed_.notify_all();
}

void OrderedTasks::await(std::size_t nth) {
  MutexLock lock(mutex_);
  pass_over(nth);
  Entry& entry = entries_[nth];
  if (entry.state == State::Waiting && helpers_.empty()) {
    next_ = nth + 1;
    perform(entry);
  }
  changed_.wait(lock, [&]() CUPEL_REQUIRES(mutex_) { return entry.state == State::Done; });
  if (entry.failure) std::rethrow_exception(entry.failure);
}

}  // namespace cupel::trial_detail
