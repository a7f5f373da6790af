#include <algorithm>
#include <chrono>
#include <stop_token>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"
#include "reading.h"
#include "view.h"

namespace cupel {

using trial_detail::Reading;

namespace {

// A watch finds every change within the time it is asked to wait.
constexpr std::chrono::milliseconds kLongestPause(1000);

/// Waits for steps one after another with one watch and one deadline.
class StepWaiter {
 public:
  StepWaiter(TrialIndex& index, const WaitOptions& options)
      : index_(index),
        stop_(options.stop),
        begin_(index.clock().now()),
        timeout_(options.timeout) {}

  void wait_for(std::int64_t step, Mode mode) {
    if (settle(index_.newest(), step, mode) || settle(index_.up_to_date(), step, mode)) return;
    // Made before the last look, so that nothing after it is missed.
    if (!watch_) watch_ = index_.watch();
    const std::stop_callback wake_on_stop(stop_, [this] { watch_->wake(); });
    for (;;) {
      index_.refresh_if_due();
      if (settle(index_.newest(), step, mode)) return;
      const std::chrono::milliseconds rest = time_left();
      if (stop_.stop_requested() || rest.count() <= 0) throw StepNotYetAvailable(step, mode);
      watch_->wait(std::min(rest, kLongestPause));
    }
  }

 private:
  /// True: the step is there; throws when it will never be.
  bool settle(std::shared_ptr<const Snapshot> snapshot, std::int64_t step, Mode mode) const {
    const Reading reading(std::move(snapshot));
    const StepState state = reading.state(step, mode);
    if (state != StepState::Unavailable) return state == StepState::Available;
    index_.require_undamaged();
    reading.throw_missing(step, mode);
  }

  std::chrono::milliseconds time_left() const {
    if (!timeout_) return kLongestPause;
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

bool Trial::wait_for_change(std::chrono::milliseconds at_most) const {
  const std::lock_guard one_at_a_time(view_->waiting);
  Watch* watch = nullptr;
  {
    const std::lock_guard lock(view_->watch_mutex);
    if (!view_->watch) {
      // Nobody has listened so far: the run may well have changed.
      view_->watch = view_->index->watch();
      return true;
    }
    watch = view_->watch.get();
  }
  return watch->wait(at_most);
}

void Trial::wake() const {
  const std::lock_guard lock(view_->watch_mutex);
  if (view_->watch) view_->watch->wake();
  view_->index->reader().stop_waiting();
}

}  // namespace cupel
