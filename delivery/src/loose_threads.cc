#include "cupel/delivery/loose_threads.h"

#include <chrono>
#include <thread>
#include <utility>

#include "cupel/core/mutex.h"

namespace cupel {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(1);

}  // namespace

LooseThreads::LooseThreads() : running_(std::make_shared<Running>()) {}

void LooseThreads::start(std::function<void()> body) {
  Running& all = *running_;
  const MutexLock lock(all.mutex);
  std::thread([running = running_, body = std::move(body)]() mutable {
    std::exchange(body, {})();
    const MutexLock end(running->mutex);
    --running->threads;
    running->ended.notify_all();
  }).detach();
  ++all.threads;
}

LooseThreads::~LooseThreads() {
  Running& all = *running_;
  MutexLock lock(all.mutex);
  all.ended.wait_for(lock, kLongestWait,
                     [&all]() CUPEL_REQUIRES(all.mutex) { return all.threads == 0; });
}

}  // namespace cupel
