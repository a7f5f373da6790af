#include "stop_watch.h"

#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/format/layout.h"

namespace cupel::writer_detail {
namespace {

constexpr auto kNearPeriod = std::chrono::milliseconds(100);
constexpr auto kFarPeriod = std::chrono::seconds(2);

}  // namespace

struct StopWatch::State {
  explicit State(std::shared_ptr<Store> asked)
      : store(std::move(asked)), old_request(store->stat(kStopFile)) {}

  void look() {
    const auto file = store->stat(kStopFile);
    if (file && !(old_request && old_request->identity == file->identity)) requested = true;
  }

  // Of the thread.
  void watch() {
    MutexLock lock(mutex);
    while (!stopping && !requested) {
      lock.unlock();
      try {
        look();
      } catch (const std::exception& error) {  // looked for again later
        log(LogLevel::Debug, error.what());
      } catch (...) {  // of a store of the user's
      }
      lock.lock();
      ended.wait_for(lock, kFarPeriod, [&]() CUPEL_REQUIRES(mutex) { return stopping; });
    }
  }

  const std::shared_ptr<Store> store;
  std::optional<ObjectInfo> old_request;  // does not change any more once the thread runs
  std::atomic<bool> requested{false};
  Mutex mutex;
  ConditionVariable ended;
  bool stopping CUPEL_GUARDED_BY(mutex) = false;
};

StopWatch::StopWatch(std::shared_ptr<Store> store)
    : state_(std::make_shared<State>(std::move(store))) {}

StopWatch::~StopWatch() {
  const MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->ended.notify_all();
}

void StopWatch::begin(const Store& run) {
  if (state_->old_request && !run.stat(kStopFile)) state_->old_request.reset();
  begin();
}

void StopWatch::begin() {
  if (!state_->store->can_append()) thread_.start([state = state_] { state->watch(); });
}

void StopWatch::look(std::chrono::steady_clock::time_point now) {
  if (now - looked_ < kNearPeriod) return;
  looked_ = now;
  if (state_->requested || !state_->store->can_append()) return;
  try {
    state_->look();
  } catch (const StoreError& error) {
    log(LogLevel::Debug, error.what());  // asked again at a later step
  }
}

bool StopWatch::is_requested() const noexcept {
  return state_->requested.load(std::memory_order_relaxed);
}

}  // namespace cupel::writer_detail
