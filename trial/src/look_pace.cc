#include "look_pace.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cupel::trial_detail {

class LookPace::PacedWatch final : public Watch {
 public:
  explicit PacedWatch(std::shared_ptr<LookPace> pace)
      : pace_(std::move(pace)), seen_(pace_->news_) {}

  bool changed() override {
    const std::lock_guard lock(pace_->mutex_);
    return pace_->clock_->now() >= pace_->rhythm_.soonest();
  }

  bool wait(std::chrono::milliseconds at_most) override {
    constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);
    const TrialClock& clock = *pace_->clock_;
    std::unique_lock lock(pace_->mutex_);
    const TrialClock::Time deadline =
        clock.now() + std::clamp(at_most, std::chrono::milliseconds(0), kYear);
    for (;;) {
      if (std::exchange(woken_, false)) return false;
      if (std::exchange(seen_, pace_->news_) != pace_->news_) return true;
      const TrialClock::Time now = clock.now();
      // Whoever is told and does not look is not told again at once.
      const TrialClock::Time due =
          std::max(pace_->rhythm_.due(), last_told_ + pace_->rhythm_.least());
      if (now >= due) {
        last_told_ = now;
        return true;
      }
      if (now >= deadline) return false;
      clock.wait_until(pace_->changed_, lock, std::min(deadline, due));
    }
  }

  void wake() override {
    const std::lock_guard lock(pace_->mutex_);
    woken_ = true;
    pace_->changed_.notify_all();
  }

 private:
  const std::shared_ptr<LookPace> pace_;
  std::uint64_t seen_;  // guarded by the pace's mutex, as is the following
  bool woken_ = false;
  TrialClock::Time last_told_{};
};

LookPace::LookPace(std::shared_ptr<const TrialClock> clock, const TrialOptions& options)
    : clock_(std::move(clock)), rhythm_(options.poll_least, options.poll_most, clock_->now()) {}

void LookPace::looked(bool news) {
  const std::lock_guard lock(mutex_);
  rhythm_.looked(clock_->now(), news);
  if (news) ++news_;
  changed_.notify_all();
}

bool LookPace::is_due() const {
  const std::lock_guard lock(mutex_);
  return clock_->now() >= rhythm_.due();
}

std::unique_ptr<Watch> LookPace::watch() {
  const std::lock_guard lock(mutex_);
  return std::make_unique<PacedWatch>(shared_from_this());
}

}  // namespace cupel::trial_detail
