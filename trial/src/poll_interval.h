#pragma once

#include <chrono>
#include <optional>

#include "cupel/trial/trial_clock.h"

namespace cupel::trial_detail {

/// Computes when to poll a run next, where every poll costs: often when news are expected, and less
/// often the longer no news have come.
///
/// News that come regularly, as segments do that are sealed by age, are expected when as much time
/// has passed as between the last two. The interval to the next poll is half of the time to that
/// moment, or half of the time since it. Knows no clock: callers pass the time.
class PollInterval {
 public:
  using Time = TrialClock::Time;
  using Interval = std::chrono::milliseconds;

  /// The greater one of `least` and `most` is the upper bound of the interval.
  PollInterval(Interval least, Interval most, Time begin);

  /// A poll has ended at `now`, with news or without.
  void poll_ended(Time now, bool news);

  /// When threads that wait poll next.
  Time due() const noexcept { return due_; }
  /// When a query may poll next.
  Time earliest() const noexcept { return last_poll_ + least_; }
  Interval least() const noexcept { return least_; }

 private:
  const Interval least_, most_;
  Time last_poll_, due_;
  Time last_news_;  // before the first news: the beginning
  std::optional<Time::duration> time_between_news_;
  bool had_news_ = false;
};

}  // namespace cupel::trial_detail
