#include "cupel/trial/run_follower.h"

#include <algorithm>

#include "cupel/store/store.h"
#include "cupel/trial/trial.h"
#include "trial_view.h"

namespace cupel {

using trial_detail::SnapshotView;
using trial_detail::TrialView;

RunFollower::RunFollower(const Trial& view) : view_(view) {}
RunFollower::~RunFollower() = default;

bool RunFollower::requests_cost() const noexcept {
  return TrialView::of(view_).index->requests_cost();
}

bool RunFollower::refresh_if_due() const { return TrialView::of(view_).index->refresh_if_due(); }

bool RunFollower::wait_for_change(std::chrono::milliseconds at_most) {
  const MutexLock one_at_a_time(waiting_);
  Watch* watch = nullptr;
  {
    const MutexLock lock(watch_mutex_);
    if (!watch_) {
      // No watch was there so far: the run may well have changed.
      watch_ = TrialView::of(view_).index->watch();
      return true;
    }
    watch = watch_.get();
  }
  return watch->wait(at_most);
}

void RunFollower::wake() {
  const MutexLock lock(watch_mutex_);
  if (watch_) watch_->wake();
  TrialView::of(view_).index->reader().stop_waiting();
}

std::shared_ptr<const Snapshot> RunFollower::snapshot() const {
  return TrialView::of(view_).snapshot();
}

std::vector<std::int64_t> RunFollower::steps_from(std::int64_t first,
                                                  bool show_incomplete_steps) const {
  return TrialView::of(view_).read().steps_from(first, show_incomplete_steps);
}

std::optional<std::int64_t> RunFollower::rewound_to(const Snapshot& since) const {
  return rewound_to(since.rewinds.size());
}

std::optional<std::int64_t> RunFollower::rewound_to(std::size_t rewinds_before) const {
  const std::shared_ptr<const Snapshot> now = snapshot();
  if (now->rewinds.size() <= rewinds_before) return std::nullopt;
  return *std::min_element(now->rewinds.begin() + static_cast<std::ptrdiff_t>(rewinds_before),
                           now->rewinds.end());
}

std::size_t RunFollower::rewinds() const { return snapshot()->rewinds.size(); }

std::vector<std::string> RunFollower::run_ids() const {
  std::vector<std::string> ids;
  const std::shared_ptr<const Snapshot> now = snapshot();
  for (const auto& entry : now->collections->files()) {
    const std::string& id = entry.second.content.run;
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

std::optional<std::string> RunFollower::extra_file(std::string_view key) const {
  constexpr std::uint64_t kMostBytes = 4096;
  const auto bytes = TrialView::of(view_).index->store().get(key, kMostBytes);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

void RunFollower::keep_values(std::uint64_t bytes) const {
  TrialView::of(view_).index->values().keep(bytes);
}

}  // namespace cupel
