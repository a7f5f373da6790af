#include "process.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

namespace cupel::writer_detail {
namespace {

std::atomic<std::uint64_t> forks{0};

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

struct Waiting {
  // Held while one is called, which must not go meanwhile, and may lock again: clang's check knows
  // of no such mutex.
  std::recursive_mutex mutex;
  std::set<AtExit*> calls;  // used with the mutex locked
};

Waiting& waiting() {
  static Waiting& instance = *new Waiting;  // needed while static objects are destroyed
  return instance;
}

}  // namespace

std::uint64_t fork_depth() noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &count_fork);
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

void run_at_exit() {
  const std::lock_guard lock(waiting().mutex);
  while (!waiting().calls.empty()) {
    const auto first = waiting().calls.begin();
    const std::function<void()> call = std::move((*first)->call_);
    waiting().calls.erase(first);
    call();
  }
}

AtExit::AtExit(std::function<void()> call) : call_(std::move(call)) {
  static const int registered = std::atexit(&run_at_exit);
  static_cast<void>(registered);
  const std::lock_guard lock(waiting().mutex);
  waiting().calls.insert(this);
}

AtExit::~AtExit() {
  const std::lock_guard lock(waiting().mutex);
  waiting().calls.erase(this);
}

}  // namespace cupel::writer_detail
