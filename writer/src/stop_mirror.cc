#include "stop_mirror.h"

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/format/layout.h"

namespace cupel {
namespace {

constexpr auto kPeriod = std::chrono::seconds(2);

}  // namespace

struct StopMirror::State {
  State(std::shared_ptr<Store> store, std::optional<ObjectInfo> known_file)
      : remote(std::move(store)), known(std::move(known_file)) {}

  void watch() {
    MutexLock lock(mutex);
    while (!stopping && !requested) {
      lock.unlock();
      look();
      lock.lock();
      ended.wait_for(lock, kPeriod, [&]() CUPEL_REQUIRES(mutex) { return stopping; });
    }
  }
  void look() noexcept {
    try {
      const auto file = remote->stat(kStopFile);
      if (file && !(known && known->identity == file->identity)) requested = true;
    } catch (const std::exception& error) {  // looked for again later
      log(LogLevel::Debug, error.what());
    } catch (...) {  // of a store of the user's
    }
  }

  const std::shared_ptr<Store> remote;
  const std::optional<ObjectInfo> known;
  std::atomic<bool> requested{false};
  Mutex mutex;
  ConditionVariable ended;
  bool stopping CUPEL_GUARDED_BY(mutex) = false;
};

StopMirror::StopMirror(std::shared_ptr<Store> remote, std::optional<ObjectInfo> known)
    : state_(std::make_shared<State>(std::move(remote), std::move(known))) {
  thread_.start([state = state_] { state->watch(); });
}

StopMirror::~StopMirror() {
  const MutexLock lock(state_->mutex);
  state_->stopping = true;
  state_->ended.notify_all();
}

bool StopMirror::is_requested() const noexcept {
  return state_->requested.load(std::memory_order_relaxed);
}

}  // namespace cupel
