// Waiting for steps, on the thread that calls wait_for_steps(). Each round polls, if a poll is due,
// and waits for a change, for a second at most. Damage ends the wait for a step that is missing.

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/trial/trial.h"
#include "snapshot_view.h"
#include "trial_view.h"

namespace cupel {

using trial_detail::kLongestWait;
using trial_detail::SnapshotView;
using trial_detail::TrialIndex;

namespace {

/// Waits for steps, one after another, with one watch and one deadline.
class StepWaiter {
 public:
  StepWaiter(TrialIndex& index, const WaitOptions& options)
      : index_(index),
        stop_(options.stop),
        begin_(index.clock().now()),
        timeout_(options.timeout) {}

  void wait_for(std::int64_t step, Mode mode) {
    if (is_available(index_.newest(), step, mode) || is_available(index_.up_to_date(), step, mode))
      return;
    // Made before the next poll, so that no later change is missed.
    if (!watch_) watch_ = index_.watch();
    const std::stop_callback wake_on_stop(stop_, [this] { watch_->wake(); });
    for (;;) {
      index_.refresh_if_due();
      if (is_available(index_.newest(), step, mode)) return;
      const std::chrono::milliseconds rest = time_left();
      if (stop_.stop_requested() || rest.count() <= 0) throw StepNotYetAvailable(step, mode);
      watch_->wait(std::min(rest, kLongestWait));
    }
  }

 private:
  /// Throws when the step will never be available.
  bool is_available(std::shared_ptr<const Snapshot> snapshot, std::int64_t step, Mode mode) const {
    const SnapshotView view(std::move(snapshot));
    const StepState state = view.state(step, mode);
    if (state != StepState::Unavailable) return state == StepState::Available;
    index_.require_undamaged();
    view.throw_missing(step, mode);
  }

  std::chrono::milliseconds time_left() const {
    if (!timeout_) return kLongestWait;
    return std::chrono::ceil<std::chrono::milliseconds>(begin_ + *timeout_ - index_.clock().now());
  }

  TrialIndex& index_;
  const std::stop_token stop_;
  const TrialClock::Time begin_;
  const std::optional<std::chrono::milliseconds> timeout_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace

void Trial::wait_for_steps(const std::vector<std::int64_t>& steps, Mode mode,
                           const WaitOptions& options) const {
  if (!is_valid(mode)) throw UsageError("wait_for_steps was given a mode that there is not");
  StepWaiter waiter(*view_->index, options);
  for (const std::int64_t step : steps) waiter.wait_for(step, mode);
}

}  // namespace cupel
