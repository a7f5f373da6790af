#include "cupel/trial/run_status.h"

#include <algorithm>
#include <chrono>

#include "cupel/format/layout.h"
#include "cupel/trial/trial.h"
#include "reading.h"
#include "view.h"

namespace cupel {

using trial_detail::Reading;

namespace {

constexpr std::chrono::seconds kSilentAfter{60};

// Held if any worker's lock is, Free if all are.
LockState lock_state(const Store& store, const Reading& reading, std::int64_t num_workers) {
  // A worker that has not begun may be about to.
  bool all_free = !reading.workers().empty() &&
                  static_cast<std::int64_t>(reading.workers().size()) >= num_workers;
  for (const Snapshot::Worker& worker : reading.workers()) {
    const LockState state = store.lock_state(lock_name(worker.name));
    if (state == LockState::Held) return LockState::Held;
    all_free = all_free && state == LockState::Free;
  }
  return all_free ? LockState::Free : LockState::Unseen;
}

std::int64_t newest_time_us(const Reading& reading) {
  std::int64_t newest = 0;
  for (const Snapshot::Worker& worker : reading.workers())
    if (worker.sizes.steps > 0)
      newest = std::max(newest, worker.steps->step(worker.sizes.steps - 1).time_us);
  return newest;
}

}  // namespace

std::string_view to_string(RunStatus status) noexcept {
  switch (status) {
    case RunStatus::Running:
      return "running";
    case RunStatus::Ended:
      return "ended";
    case RunStatus::Interrupted:
      return "interrupted";
    case RunStatus::Silent:
      return "silent";
  }
  return "unknown";
}

RunStatus Trial::status() const {
  const Reading reading(snapshot());
  if (reading.ended()) return RunStatus::Ended;
  const Store& store = view_->index->store();
  switch (lock_state(store, reading, num_workers())) {
    case LockState::Held:
      return RunStatus::Running;
    case LockState::Free:
      // A hook that closes writes the marker before it gives up its lock.
      return store.stat(kEndMarker) ? RunStatus::Ended : RunStatus::Interrupted;
    case LockState::Unseen:
      break;
  }
  // In seconds: the system's clock counts nanoseconds, which end in the year 2262.
  using std::chrono::seconds;
  const std::int64_t newest = newest_time_us(reading);
  const seconds now =
      std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch());
  const bool is_silent = newest > 0 && now - seconds(newest / 1'000'000) > kSilentAfter;
  return is_silent ? RunStatus::Silent : RunStatus::Running;
}

}  // namespace cupel
