#include "look_rhythm.h"

#include <algorithm>

namespace cupel::trial_detail {

LookRhythm::LookRhythm(Pause least, Pause most, Time begin)
    : least_(std::max(least, Pause(0))),
      most_(std::max(most, least_)),
      last_look_(begin - least_),
      due_(begin),
      last_news_(begin) {}

void LookRhythm::looked(Time now, bool news) {
  if (news) {
    const Time::duration since = now - last_news_;
    if (had_news_) interval_ = interval_ ? (*interval_ + since) / 2 : since;
    had_news_ = true;
    last_news_ = now;
  }
  const Time expected = last_news_ + interval_.value_or(Time::duration(0));
  const Time::duration distance = now < expected ? expected - now : now - expected;
  last_look_ = now;
  due_ = now + std::clamp<Time::duration>(distance / 2, least_, most_);
}

}  // namespace cupel::trial_detail
