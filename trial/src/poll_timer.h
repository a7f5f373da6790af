#pragma once

#include <cstdint>
#include <memory>

#include "cupel/core/mutex.h"
#include "cupel/store/store.h"
#include "cupel/trial/polling_options.h"
#include "poll_interval.h"

namespace cupel::trial_detail {

/// The poll interval that all views of one run share, so that the news of one poll serve them all.
/// Any thread.
class PollTimer : public std::enable_shared_from_this<PollTimer> {
 public:
  /// `clock` is not null; the clock of the options is not used.
  PollTimer(std::shared_ptr<const TrialClock> clock, const PollingOptions& options);

  /// A poll has ended, with news or without.
  void poll_ended(bool news);
  /// Whether threads that wait have to poll now.
  bool is_due() const;

  /// A watch that reports a change when the next poll is due, or a poll of another thread had news.
  /// Time alone wakes it; it asks the store nothing. Its changed() is true as soon as a query may
  /// poll.
  std::unique_ptr<Watch> watch();

 private:
  class TimedWatch;

  const std::shared_ptr<const TrialClock> clock_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  PollInterval interval_ CUPEL_GUARDED_BY(mutex_);
  std::uint64_t news_ CUPEL_GUARDED_BY(mutex_) = 0;  // The number of polls that had news.
};

}  // namespace cupel::trial_detail
