#include "cupel/trial/run_status.h"

#include <algorithm>
#include <chrono>

#include "cupel/trial/run_follower.h"
#include "snapshot_view.h"
#include "trial_view.h"

namespace cupel {

using trial_detail::SnapshotView;

namespace {

constexpr std::chrono::seconds kSilentAfter{60};

// Held if the lock of any worker is held, Free if the locks of all workers are free.
LockState writers_lock(const trial_detail::IndexSource& source, const SnapshotView& snapshot) {
  // A worker that has written nothing yet may hold its lock, and its name is not known.
  const std::int64_t expected = snapshot.snapshot().collections->num_workers();
  bool all_free = !snapshot.workers().empty() &&
                  static_cast<std::int64_t>(snapshot.workers().size()) >= expected;
  for (const Snapshot::Worker& worker : snapshot.workers()) {
    const LockState state = source.writer_lock(worker.name);
    if (state == LockState::Held) return LockState::Held;
    all_free = all_free && state == LockState::Free;
  }
  return all_free ? LockState::Free : LockState::Unseen;
}

std::int64_t newest_time_us(const SnapshotView& snapshot) {
  std::int64_t newest = 0;
  for (const Snapshot::Worker& worker : snapshot.workers())
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

RunStatus RunFollower::status() const {
  const trial_detail::TrialView& view = trial_detail::TrialView::of(view_);
  const SnapshotView snapshot(view.snapshot());
  if (snapshot.ended()) return RunStatus::Ended;
  const trial_detail::IndexSource& source = view.index->source();
  switch (writers_lock(source, snapshot)) {
    case LockState::Held:
      return RunStatus::Running;
    case LockState::Free:
      // A hook that closes writes the end marker before it releases its lock.
      return source.has_ended() ? RunStatus::Ended : RunStatus::Interrupted;
    case LockState::Unseen:
      break;
  }
  // In seconds: the nanoseconds of the system's clock end in the year 2262.
  using std::chrono::seconds;
  const std::int64_t newest = newest_time_us(snapshot);
  const seconds now =
      std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch());
  const bool is_silent = newest > 0 && now - seconds(newest / 1'000'000) > kSilentAfter;
  return is_silent ? RunStatus::Silent : RunStatus::Running;
}

}  // namespace cupel
