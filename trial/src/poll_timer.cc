#include "poll_timer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cupel::trial_detail {

class PollTimer::TimedWatch final : public Watch {
 public:
  TimedWatch(std::shared_ptr<PollTimer> timer, std::uint64_t news)
      : timer_(std::move(timer)), seen_(news) {}

  bool changed() override {
    const MutexLock lock(timer_->mutex_);
    return timer_->clock_->now() >= timer_->interval_.earliest();
  }

  bool wait(std::chrono::milliseconds at_most) override {
    constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);
    const TrialClock& clock = *timer_->clock_;
    MutexLock lock(timer_->mutex_);
    const TrialClock::Time deadline =
        clock.now() + std::clamp(at_most, std::chrono::milliseconds(0), kYear);
    for (;;) {
      if (std::exchange(woken_, false)) return false;
      if (std::exchange(seen_, timer_->news_) != timer_->news_) return true;
      const TrialClock::Time now = clock.now();
      // A caller that does not poll after a report gets the next one after the least interval.
      const TrialClock::Time due =
          std::max(timer_->interval_.due(), last_reported_ + timer_->interval_.least());
      if (now >= due) {
        last_reported_ = now;
        return true;
      }
      if (now >= deadline) return false;
      clock.wait_until(timer_->changed_, lock, std::min(deadline, due));
    }
  }

  void wake() override {
    const MutexLock lock(timer_->mutex_);
    woken_ = true;
    timer_->changed_.notify_all();
  }

 private:
  const std::shared_ptr<PollTimer> timer_;
  std::uint64_t seen_ CUPEL_GUARDED_BY(timer_->mutex_);
  bool woken_ CUPEL_GUARDED_BY(timer_->mutex_) = false;
  TrialClock::Time last_reported_{};
};

PollTimer::PollTimer(std::shared_ptr<const TrialClock> clock, const PollingOptions& options)
    : clock_(std::move(clock)),
      interval_(options.min_interval, options.max_interval, clock_->now()) {}

void PollTimer::poll_ended(bool news) {
  const MutexLock lock(mutex_);
  interval_.poll_ended(clock_->now(), news);
  if (news) ++news_;
  changed_.notify_all();
}

bool PollTimer::is_due() const {
  const MutexLock lock(mutex_);
  return clock_->now() >= interval_.due();
}

std::unique_ptr<Watch> PollTimer::watch() {
  const MutexLock lock(mutex_);
  return std::make_unique<TimedWatch>(shared_from_this(), news_);
}

}  // namespace cupel::trial_detail
