#include "loose_threads.h"

#include <chrono>
#include <thread>
#include <utility>

namespace cupel {
namespace {

constexpr auto kMoment = std::chrono::seconds(1);

}  // namespace

LooseThreads::LooseThreads() : running_(std::make_shared<Running>()) {}

void LooseThreads::start(std::function<void()> body) {
  const std::lock_guard lock(running_->mutex);
  std::thread([running = running_, body = std::move(body)]() mutable {
    std::exchange(body, {})();
    const std::lock_guard end(running->mutex);
    --running->threads;
    running->ended.notify_all();
  }).detach();
  ++running_->threads;
}

LooseThreads::~LooseThreads() {
  std::unique_lock lock(running_->mutex);
  running_->ended.wait_for(lock, kMoment, [&] { return running_->threads == 0; });
}

}  // namespace cupel
