#include "poll_interval.h"

#include <algorithm>

namespace cupel::trial_detail {

PollInterval::PollInterval(Interval least, Interval most, Time begin)
    : least_(std::max(least, Interval(0))),
      most_(std::max(most, least_)),
      last_poll_(begin - least_),
      due_(begin),
      last_news_(begin) {}

void PollInterval::poll_ended(Time now, bool news) {
  if (news) {
    const Time::duration since = now - last_news_;
    if (had_news_)
      time_between_news_ = time_between_news_ ? (*time_between_news_ + since) / 2 : since;
    had_news_ = true;
    last_news_ = now;
  }
  const Time expected = last_news_ + time_between_news_.value_or(Time::duration(0));
  const Time::duration distance = now < expected ? expected - now : now - expected;
  last_poll_ = now;
  due_ = now + std::clamp<Time::duration>(distance / 2, least_, most_);
}

}  // namespace cupel::trial_detail
