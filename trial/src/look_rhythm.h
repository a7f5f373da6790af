#pragma once

#include <chrono>
#include <optional>

#include "cupel/trial/trial_clock.h"

namespace cupel::trial_detail {

/// When to look again at a run in a store where every look costs: often where news are due, and the
/// more seldom the longer none have come.
///
/// News that come regularly, as segments do that are sealed by age, are expected when as much time
/// has passed as between the last ones. The pause between two looks is half of the time to that
/// moment, or since it. Knows no clock: the caller says what time it is.
class LookRhythm {
 public:
  using Time = TrialClock::Time;
  using Pause = std::chrono::milliseconds;

  /// Of `least` and `most` the greater one bounds the pause from above.
  LookRhythm(Pause least, Pause most, Time begin);

  /// A look has ended, and found something or not.
  void looked(Time now, bool news);

  /// When the next look is due for those who wait,
  Time due() const noexcept { return due_; }
  /// and when it may be had by those who ask.
  Time soonest() const noexcept { return last_look_ + least_; }
  Pause least() const noexcept { return least_; }

 private:
  const Pause least_, most_;
  Time last_look_, due_;
  Time last_news_;  // or the beginning
  std::optional<Time::duration> interval_;
  bool had_news_ = false;
};

}  // namespace cupel::trial_detail
