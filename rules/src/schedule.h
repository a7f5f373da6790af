#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/rules/rule_runner.h"
#include "runner_step.h"
#include "step_feed.h"

namespace cupel::rules_detail {

/// Passes steps from the feed to the judging threads, and outcomes from these to the narrator.
///
/// A judging thread claims the rule that is furthest behind and that no other has, with the steps
/// that it may judge next. The narrator takes outcomes in the order step, then rule, and a step
/// leaves the schedule when the outcomes of all rules are taken. Rules may be kMostStepsAhead steps
/// ahead of the narrator, no more.
///
/// All functions may be called from any thread, but for add_rule() and close(), which come before
/// the threads begin. A function whose name begins with `wait_for_` waits; the others do not.
class Schedule {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostStepsAhead = 64;

  /// How long a rule that waits for another run is asked again: until `idle_timeout`, for ever
  /// without one, and never without `wait`.
  struct Patience {
    bool wait = true;
    std::optional<std::chrono::milliseconds> idle_timeout = std::nullopt;
  };
  explicit Schedule(Patience patience) : patience_(patience) {}

  /// Adds a rule; rules are numbered from 0.
  void add_rule() {
    const MutexLock lock(mutex_);
    rules_.emplace_back();
  }
  /// The rule is not to be asked: an earlier runner has seen it end.
  void close(std::size_t rule) {
    const MutexLock lock(mutex_);
    rules_[rule].exhausted = true;
  }

  // ---- The feed

  void add(std::vector<Step> fresh);
  /// Rules that have judged all steps are asked once more; `snapshot` is the newest.
  void add_tick(Clock::time_point now, std::shared_ptr<const Snapshot> snapshot);
  void change_status(RunStatus status);
  void end(StepFeed::End end);
  /// Whether leave() was called.
  bool is_left() const;

  // ---- The judging threads

  /// A rule that one judging thread asks until it calls finish().
  struct Claim {
    std::size_t rule = 0;
    std::vector<const Step*> steps = {};  ///< The next ones; none: the rule is asked at a tick.
    Clock::time_point tick = {};
    std::shared_ptr<const Snapshot> snapshot = nullptr;
  };
  /// Returns a rule to ask now. Where there is none, lowers `ask_after` to the time when a rule
  /// that waits for another run is to be asked again.
  std::optional<Claim> claim(Clock::time_point now, Clock::time_point& ask_after);
  /// Waits for a rule to ask; returns nullopt after leave().
  std::optional<Claim> wait_for_claim();
  /// Takes the outcomes of the first steps of a claim, at least one, or that of its tick. Only the
  /// last one may be NotYet: then the rule is asked again later, or the step counts as skipped.
  void finish(const Claim& claim, std::vector<Outcome> outcomes, Clock::time_point now);

  // ---- The narrator

  enum class News {
    Outcome,  ///< take_outcome() has the rule's outcome of the step whose turn it is.
    Between,  ///< take_between() has something.
    End,      ///< No more steps will come.
    Stop,     ///< request_stop() was called.
  };
  /// What there is for the narrator, who has come to this rule; `begins`: no outcome of the step
  /// was taken yet.
  std::optional<News> news(std::size_t rule, bool begins) const;
  /// Waits for news, until `until` if it is given; returns nullopt then.
  std::optional<News> wait_for_news(std::size_t rule, bool begins,
                                    std::optional<Clock::time_point> until);

  struct Taken {
    Outcome outcome;
    const Step* step;  ///< Stays where it is until leave_step().
  };
  Taken take_outcome(std::size_t rule);
  /// The outcomes of all rules were taken. Returns whether room was made for more steps.
  bool leave_step();

  struct Between {
    std::optional<RunStatus> status = std::nullopt;
    /// Of ticks, by rule; not of rules with outcomes of steps that come first.
    std::vector<std::pair<std::size_t, Outcome>> ticks = {};
  };
  Between take_between();
  /// There are outcomes of actions, which are news until the next take_between().
  void announce_actions();

  void request_stop();
  bool stop_is_requested() const;
  /// The narrator takes no more outcomes: judging threads and feed end.
  void leave();
  /// Why there are no more steps; null before that is known. Constant once it is there.
  const StepFeed::End* ended() const;
  bool is_exhausted(std::size_t rule) const;
  RunnerProgress progress() const;

 private:
  struct Cursor {
    std::size_t next = 0;    // The next step to ask about, counted from the first.
    bool claimed = false;    // A judging thread has it.
    bool exhausted = false;  // Not to be asked again.
    bool tick_is_due = false;
    Clock::time_point ask_after = {};  // Set while the rule waits for another run.
    std::optional<Clock::time_point> waits_since = {};
    std::deque<Outcome> outcomes = {};
    std::optional<Outcome> tick_outcome = {};
    bool has_tick_to_take() const { return tick_outcome && outcomes.empty(); }
  };

  std::size_t steps_seen() const CUPEL_REQUIRES(mutex_) { return steps_left_ + steps_.size(); }
  std::size_t steps_to_go_to() const CUPEL_REQUIRES(mutex_);
  std::optional<Claim> find_claim(Clock::time_point now, Clock::time_point& ask_after)
      CUPEL_REQUIRES(mutex_);
  std::optional<Claim> claim_tick() CUPEL_REQUIRES(mutex_);
  bool has_waited_enough(const Cursor& cursor, Clock::time_point now) const;
  void finish_tick(Cursor& cursor, Outcome outcome) CUPEL_REQUIRES(mutex_);
  void put_off(Cursor& cursor, std::vector<Outcome>& outcomes, Clock::time_point now) const
      CUPEL_REQUIRES(mutex_);
  std::optional<News> find_news(std::size_t rule, bool begins) const CUPEL_REQUIRES(mutex_);

  const Patience patience_;
  mutable Mutex mutex_;
  ConditionVariable work_to_do_;  // for judging threads
  ConditionVariable has_news_;    // for the narrator
  std::vector<Cursor> rules_ CUPEL_GUARDED_BY(mutex_);
  // The steps that at least one rule has not judged yet.
  std::deque<Step> steps_ CUPEL_GUARDED_BY(mutex_);
  // The number of steps that were removed from the front of steps_.
  std::size_t steps_left_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::optional<std::int64_t> newest_step_ CUPEL_GUARDED_BY(mutex_);
  std::chrono::system_clock::time_point newest_at_ CUPEL_GUARDED_BY(mutex_);
  std::optional<StepFeed::End> end_ CUPEL_GUARDED_BY(mutex_);
  Clock::time_point tick_time_ CUPEL_GUARDED_BY(mutex_);
  std::shared_ptr<const Snapshot> tick_snapshot_ CUPEL_GUARDED_BY(mutex_);
  // Not taken yet.
  std::optional<RunStatus> status_ CUPEL_GUARDED_BY(mutex_);
  bool actions_have_outcomes_ CUPEL_GUARDED_BY(mutex_) = false;
  // The rule that the narrator waits for.
  std::optional<std::size_t> awaited_ CUPEL_GUARDED_BY(mutex_);
  bool stop_requested_ CUPEL_GUARDED_BY(mutex_) = false;
  bool left_ CUPEL_GUARDED_BY(mutex_) = false;
};

}  // namespace cupel::rules_detail
