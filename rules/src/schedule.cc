// Three parties share this object: the feed's thread adds steps and ticks, workers claim rules and
// finish claims, and the narrator, in run()'s thread, takes outcomes. One mutex guards everything,
// and no party holds it while a rule judges or a line is written.
//
// Waking a thread takes longer than judging a step. So workers get all steps that a rule may judge
// as one claim, and room for more steps is made by halves of kMostStepsAhead. The narrator is woken
// by outcomes of the rule that it waits for only.
//
// Nothing here fails, but for a lack of memory.

#include "schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cupel/core/mutex.h"

namespace cupel::rules_detail {
namespace {

constexpr std::size_t kHalf = Schedule::kMostStepsAhead / 2;

}  // namespace

// ---- The feed

void Schedule::add(std::vector<Step> fresh) {
  const MutexLock lock(mutex_);
  if (!fresh.back().rewound) {
    newest_step_ = fresh.back().step;
    newest_at_ = std::chrono::system_clock::now();
  }
  std::move(fresh.begin(), fresh.end(), std::back_inserter(steps_));
  work_to_do_.notify_all();
}

void Schedule::add_tick(Clock::time_point now, std::shared_ptr<const Snapshot> snapshot) {
  const MutexLock lock(mutex_);
  tick_time_ = now;
  tick_snapshot_ = std::move(snapshot);
  for (Cursor& cursor : rules_) cursor.tick_is_due = true;
  work_to_do_.notify_all();
}

void Schedule::change_status(RunStatus status) {
  const MutexLock lock(mutex_);
  status_ = status;
  has_news_.notify_one();
}

void Schedule::end(StepFeed::End end) {
  const MutexLock lock(mutex_);
  end_ = std::move(end);
  work_to_do_.notify_all();
  has_news_.notify_all();
}

bool Schedule::is_left() const {
  const MutexLock lock(mutex_);
  return left_;
}

// ---- The workers

// Up to where steps may be judged, counted from the first.
std::size_t Schedule::steps_to_go_to() const {
  return std::min(steps_seen(), steps_left_ / kHalf * kHalf + kMostStepsAhead);
}

std::optional<Schedule::Claim> Schedule::claim(Clock::time_point now,
                                               Clock::time_point& ask_after) {
  const MutexLock lock(mutex_);
  return find_claim(now, ask_after);
}

std::optional<Schedule::Claim> Schedule::find_claim(Clock::time_point now,
                                                    Clock::time_point& ask_after) {
  const std::size_t behind = steps_to_go_to();
  Cursor* furthest_behind = nullptr;
  for (Cursor& cursor : rules_) {
    if (cursor.claimed || cursor.exhausted || cursor.next >= behind) continue;
    if (cursor.ask_after > now) {
      ask_after = std::min(ask_after, cursor.ask_after);
    } else if (furthest_behind == nullptr || cursor.next < furthest_behind->next) {
      furthest_behind = &cursor;
    }
  }
  if (furthest_behind == nullptr) return claim_tick();
  furthest_behind->claimed = true;
  Claim claim{.rule = static_cast<std::size_t>(furthest_behind - rules_.data())};
  // Steps stay where they are until the narrator has taken the outcomes of all rules.
  for (std::size_t i = furthest_behind->next; i < behind; ++i)
    claim.steps.push_back(&steps_[i - steps_left_]);
  return claim;
}

std::optional<Schedule::Claim> Schedule::claim_tick() {
  for (std::size_t rule = 0; rule < rules_.size(); ++rule) {
    Cursor& cursor = rules_[rule];
    const bool has_judged_all = cursor.next == steps_seen();
    if (cursor.claimed || cursor.exhausted || !cursor.tick_is_due || !has_judged_all) continue;
    if (cursor.tick_outcome) continue;  // That one is still to be taken.
    cursor.claimed = true;
    cursor.tick_is_due = false;
    return Claim{.rule = rule, .tick = tick_time_, .snapshot = tick_snapshot_};
  }
  return std::nullopt;
}

std::optional<Schedule::Claim> Schedule::wait_for_claim() {
  MutexLock lock(mutex_);
  while (!left_) {
    Clock::time_point ask_after = Clock::time_point::max();
    if (auto found = find_claim(Clock::now(), ask_after)) return found;
    if (ask_after == Clock::time_point::max())
      work_to_do_.wait(lock);
    else
      work_to_do_.wait_until(lock, ask_after);
  }
  return std::nullopt;
}

void Schedule::finish(const Claim& claim, std::vector<Outcome> outcomes, Clock::time_point now) {
  const MutexLock lock(mutex_);
  Cursor& cursor = rules_[claim.rule];
  cursor.claimed = false;
  if (claim.steps.empty()) return finish_tick(cursor, std::move(outcomes.front()));
  if (outcomes.back().is<NotYet>())
    put_off(cursor, outcomes, now);
  else
    cursor.waits_since.reset();
  if (outcomes.empty()) return;
  cursor.next += outcomes.size();
  cursor.exhausted = outcomes.back().last;
  std::move(outcomes.begin(), outcomes.end(), std::back_inserter(cursor.outcomes));
  if (awaited_ == claim.rule) has_news_.notify_one();
}

void Schedule::finish_tick(Cursor& cursor, Outcome outcome) {
  cursor.exhausted = outcome.last;
  if (!outcome.is<Fired>() && !outcome.last) return;
  cursor.tick_outcome = std::move(outcome);
  has_news_.notify_one();
}

// Lets the rule be asked again about the last of its steps, until it has waited enough.
void Schedule::put_off(Cursor& cursor, std::vector<Outcome>& outcomes,
                       Clock::time_point now) const {
  if (outcomes.size() > 1 || !cursor.waits_since) cursor.waits_since = now;
  if (!has_waited_enough(cursor, now)) {
    cursor.ask_after = now + kAskAgain;
    outcomes.pop_back();
    return;
  }
  Outcome& last = outcomes.back();
  if (last.reported_before)
    last = {.what = Passed(), .last = last.last};
  else
    last.what = Skipped{std::get<NotYet>(last.what).reason};
}

// Another run that is no longer waited for will not come.
bool Schedule::has_waited_enough(const Cursor& cursor, Clock::time_point now) const {
  if (!patience_.wait) return true;
  return patience_.idle_timeout && cursor.waits_since &&
         now - *cursor.waits_since >= *patience_.idle_timeout;
}

// ---- The narrator

std::optional<Schedule::News> Schedule::find_news(std::size_t rule, bool begins) const {
  const Cursor& cursor = rules_[rule];
  const bool no_more = end_ && steps_.empty();  // Only where a step would begin.
  if (stop_requested_ && !no_more) return News::Stop;
  if (begins ? std::ranges::any_of(rules_, &Cursor::has_tick_to_take) : cursor.has_tick_to_take())
    return News::Between;
  if (begins && actions_have_outcomes_) return News::Between;
  if (!cursor.outcomes.empty()) return News::Outcome;
  if (begins && status_) return News::Between;
  if (no_more) return News::End;
  return std::nullopt;
}

std::optional<Schedule::News> Schedule::news(std::size_t rule, bool begins) const {
  const MutexLock lock(mutex_);
  return find_news(rule, begins);
}

std::optional<Schedule::News> Schedule::wait_for_news(std::size_t rule, bool begins,
                                                      std::optional<Clock::time_point> until) {
  MutexLock lock(mutex_);
  std::optional<News> found;
  const auto is_there = [&]() CUPEL_REQUIRES(mutex_) {
    return (found = find_news(rule, begins)).has_value();
  };
  awaited_ = rule;
  if (until)
    has_news_.wait_until(lock, *until, is_there);
  else
    has_news_.wait(lock, is_there);
  awaited_.reset();
  return found;
}

Schedule::Taken Schedule::take_outcome(std::size_t rule) {
  const MutexLock lock(mutex_);
  Cursor& cursor = rules_[rule];
  Taken taken{std::move(cursor.outcomes.front()), &steps_.front()};
  cursor.outcomes.pop_front();
  return taken;
}

bool Schedule::leave_step() {
  const MutexLock lock(mutex_);
  steps_.pop_front();
  const bool half_is_left = ++steps_left_ % kHalf == 0;
  if (half_is_left) work_to_do_.notify_all();
  return half_is_left;
}

Schedule::Between Schedule::take_between() {
  const MutexLock lock(mutex_);
  Between between{.status = std::exchange(status_, std::nullopt)};
  for (std::size_t rule = 0; rule < rules_.size(); ++rule)
    if (rules_[rule].has_tick_to_take())
      between.ticks.emplace_back(rule, *std::exchange(rules_[rule].tick_outcome, std::nullopt));
  actions_have_outcomes_ = false;
  return between;
}

void Schedule::announce_actions() {
  const MutexLock lock(mutex_);
  actions_have_outcomes_ = true;
  has_news_.notify_all();
}

void Schedule::request_stop() {
  const MutexLock lock(mutex_);
  stop_requested_ = true;
  has_news_.notify_all();
}

bool Schedule::stop_is_requested() const {
  const MutexLock lock(mutex_);
  return stop_requested_;
}

void Schedule::leave() {
  const MutexLock lock(mutex_);
  left_ = true;
  work_to_do_.notify_all();
}

const StepFeed::End* Schedule::ended() const {
  const MutexLock lock(mutex_);
  return end_ ? &*end_ : nullptr;
}

bool Schedule::is_exhausted(std::size_t rule) const {
  const MutexLock lock(mutex_);
  return rules_[rule].exhausted;
}

RunnerProgress Schedule::progress() const {
  const MutexLock lock(mutex_);
  return {.newest_step = newest_step_,
          .newest_at = newest_at_,
          .steps_judged = static_cast<std::int64_t>(steps_left_),
          .steps_behind = static_cast<std::int64_t>(steps_.size())};
}

}  // namespace cupel::rules_detail
