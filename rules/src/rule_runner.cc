// The runner's threads and what passes between them:
//
//   StepFeed ── steps, in order ──► workers (jobs) ── outcomes per rule ──► run()'s thread ──►
//   lines
//
// The feed follows the run and appends each new complete step, once. A worker takes the rule that
// is furthest behind and not in anybody's hands, and evaluates its next steps. run() takes outcomes
// in the order step, then rule, so that lines do not depend on who was faster; whatever is counted
// is counted there. Rules may be kMostStepsAhead steps ahead of the lines, no more.
//
// To wake a thread takes longer than to judge a step. So while steps are many they pass in batches:
// a worker hands over what it has after kLongestBatch, and room for more steps is made by halves of
// what may be ahead. A single step passes at once.
//
// Between steps a rule that has judged all there are is asked at ticks; what it finds there is said
// when run()'s thread has nothing else to say.

#include "cupel/rules/rule_runner.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <iterator>
#include <limits>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "claims.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/builtin_rules.h"
#include "exception_text.h"
#include "rule_report.h"
#include "runner_actions.h"
#include "runner_journal.h"
#include "runner_step.h"
#include "step_feed.h"
#include "stop_signal.h"

namespace cupel {
namespace {

using runner_detail::difference_of_rules;
using runner_detail::Outcome;
using runner_detail::RuleRecord;
using runner_detail::RuleReport;
using runner_detail::RunnerActions;
using runner_detail::RunnerJournal;
using runner_detail::RunnerState;
using runner_detail::Step;
using runner_detail::StepFeed;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostStepsAhead = 64;
constexpr std::size_t kHalf = kMostStepsAhead / 2;
constexpr std::chrono::milliseconds kLongestBatch{1};
// What rules that go side by side share, and one that looks back finds again.
constexpr std::uint64_t kSharedBytes = std::uint64_t{128} << 20U;
// How long actions are waited for at the end.
constexpr std::chrono::minutes kActionsEnd{10};

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return exception_text(error);
  } catch (...) {
    return "the run could not be read";
  }
}

}  // namespace

struct RuleRunner::State : StepFeed::Sink {
  // One rule with its cursor. What is below `report` belongs to run()'s thread, the rest to
  // `mutex`, but for what does not change once run() has begun.
  struct Entry {
    std::unique_ptr<Rule> rule;
    RuleOptions options;
    std::vector<Action> actions;
    RuleRecord found;  // where an earlier runner stopped

    std::size_t cursor = 0;  // The next step to evaluate, counted from the first.
    bool busy = false;       // In the hands of a worker.
    bool exhausted = false;  // Not to be evaluated again.
    bool tick_is_due = false;
    Clock::time_point ask_after = {};                   // it waits for another run
    std::optional<Clock::time_point> waits_since = {};  // likewise
    std::deque<Outcome> outcomes;
    std::optional<Outcome> tick_outcome;

    std::optional<RuleReport> report;
    bool closed() const { return report->record().closed; }
  };

  State(Trial& shared, RunnerOptions runner_options)
      : trial(shared.view()), options(std::move(runner_options)) {}

  bool all_closed() const {
    return std::all_of(entries.begin(), entries.end(), [](const Entry& e) { return e.closed(); });
  }

  // Of the feed, whose thread calls them.
  void add(std::vector<Step> fresh) override;
  void tick(Clock::time_point now, std::shared_ptr<const Snapshot> snapshot) override;
  void status_changed(RunStatus status) override;
  bool enough() override;
  void follow(const runner_detail::StepFeedOptions& feed_options);

  // Of workers.
  struct Claim {
    Entry* entry = nullptr;
    std::vector<const Step*> batch = {};  // none: a tick
  };
  void work();
  Claim claim(Clock::time_point now, Clock::time_point& ask_after);
  std::size_t steps_to_go_to() const;
  bool has_waited_enough(const Entry& entry, Clock::time_point now) const;
  static bool is_known(const Entry& entry, const Step& step);  // an earlier runner has said it
  Outcome outcome_of(const Entry& entry, const Step& step) const;
  std::vector<Outcome> evaluate_batch(const Entry& entry, std::span<const Step* const> batch) const;

  // Of run()'s thread.
  runner_detail::StepFeedOptions prepare();
  [[noreturn]] void refuse_state(const std::string& kept_for) const;
  void take_over_run(const std::vector<std::string>& runs);
  void take_over(const RunnerState& found);
  void prepare_actions();
  std::int64_t start_of(const Entry& entry) const;
  std::optional<std::int64_t> end_of(const Entry& entry) const;
  enum class News { Outcome, Between, End, Stop };
  News wait_for_news(const Entry& entry, bool begins);
  bool say_everything();
  void leave_step();
  void say(Entry& entry, const Step* step, Outcome outcome);
  void say_notes(const std::vector<Note>& notes);
  void say_line(const VerdictLine& line);
  void say_between();
  void say_ends();
  void finish_actions();
  void pause();
  void keep(RunnerJournal::Urgency urgency);
  template <class Done>
  void wait_and_keep(std::unique_lock<std::mutex>& lock, Done done);
  void close_reports();
  void end_threads();

  void request_stop();  // from any thread

  const std::unique_ptr<Trial> trial;
  const RunnerOptions options;
  std::deque<Entry> entries;  // fixed once run() has begun
  bool has_run = false;
  bool stopped = false;  // stop() cut off what was still to be said; of run()'s thread
  LineCallback on_line;
  PauseCallback on_pause;
  IncidentCallback on_incident_over;
  runner_detail::StopSignal stop_signal;  // of the feed's thread
  std::optional<RunnerJournal> journal;
  std::vector<std::string> run_ids;  // asked for before the feed's thread has the trial for itself

  mutable std::mutex mutex;
  std::condition_variable work_to_do;  // for workers
  std::condition_variable news;        // for run()'s thread
  // Guarded by mutex, as are the upper halves of the entries:
  std::deque<Step> steps;        // those that some rule has still to see
  std::size_t steps_before = 0;  // how many have left `steps` at the front
  std::optional<std::int64_t> newest_step;
  std::chrono::system_clock::time_point newest_at;
  std::optional<StepFeed::End> end;  // there are no more steps; fixed once it is there
  Clock::time_point tick_time;
  std::shared_ptr<const Snapshot> tick_snapshot;
  std::optional<RunStatus> status_news;  // not told yet
  const Entry* awaited = nullptr;        // by run()'s thread
  bool stop_requested = false;
  bool ending = false;  // run() has no use for more outcomes
  // Where there are any; set before other threads begin. Its own thread wakes run() to its end.
  std::optional<RunnerActions> actions;
  // Joined in the reverse order of their making, before everything above goes.
  std::vector<std::jthread> threads;
};

// ---- The feed's thread

void RuleRunner::State::follow(const runner_detail::StepFeedOptions& feed_options) {
  StepFeed feed(*trial, *this, feed_options);
  StepFeed::End last = feed.follow();
  const std::lock_guard lock(mutex);
  end = std::move(last);
  work_to_do.notify_all();
  news.notify_all();
}

void RuleRunner::State::add(std::vector<Step> fresh) {
  const std::lock_guard lock(mutex);
  if (!fresh.back().rewound) {
    newest_step = fresh.back().step;
    newest_at = std::chrono::system_clock::now();
  }
  std::move(fresh.begin(), fresh.end(), std::back_inserter(steps));
  work_to_do.notify_all();
}

void RuleRunner::State::tick(Clock::time_point now, std::shared_ptr<const Snapshot> snapshot) {
  if (stop_signal.expired(*trial, std::chrono::system_clock::now())) request_stop();
  const std::lock_guard lock(mutex);
  tick_time = now;
  tick_snapshot = std::move(snapshot);
  for (Entry& entry : entries) entry.tick_is_due = true;
  work_to_do.notify_all();
}

void RuleRunner::State::status_changed(RunStatus status) {
  const std::lock_guard lock(mutex);
  status_news = status;
  news.notify_one();
}

bool RuleRunner::State::enough() {
  const std::lock_guard lock(mutex);
  return ending;
}

// ---- The workers

// Up to where steps may be evaluated, counted from the first; called under the lock.
std::size_t RuleRunner::State::steps_to_go_to() const {
  return std::min(steps_before + steps.size(), steps_before / kHalf * kHalf + kMostStepsAhead);
}

// The rule furthest behind that has a step to go to, else one that is to be asked between steps;
// called under the lock. `ask_after` becomes the time when there will be one at the latest.
RuleRunner::State::Claim RuleRunner::State::claim(Clock::time_point now,
                                                  Clock::time_point& ask_after) {
  Claim claim;
  const std::size_t behind = steps_to_go_to();
  for (Entry& entry : entries) {
    if (entry.busy || entry.exhausted || entry.cursor >= behind) continue;
    if (entry.ask_after > now) {
      ask_after = std::min(ask_after, entry.ask_after);
    } else if (claim.entry == nullptr || entry.cursor < claim.entry->cursor) {
      claim.entry = &entry;
    }
  }
  if (claim.entry != nullptr) {
    // They stay where they are until every rule's outcome was said.
    for (std::size_t i = claim.entry->cursor; i < behind; ++i)
      claim.batch.push_back(&steps[i - steps_before]);
    return claim;
  }
  for (Entry& entry : entries) {
    const bool has_judged_all = entry.cursor == steps_before + steps.size();
    if (entry.busy || entry.exhausted || !entry.tick_is_due || !has_judged_all) continue;
    if (entry.tick_outcome) continue;  // that one is still to be said
    claim.entry = &entry;
    break;
  }
  return claim;
}

// Another run that is no longer waited for will not come.
bool RuleRunner::State::has_waited_enough(const Entry& entry, Clock::time_point now) const {
  if (!options.wait) return true;
  return options.idle_timeout && entry.waits_since &&
         now - *entry.waits_since >= *options.idle_timeout;
}

bool RuleRunner::State::is_known(const Entry& entry, const Step& step) {
  if (step.rewound) return entry.found.rewinds && *entry.found.rewinds >= step.rewinds;
  return step.step < entry.found.next_step;
}

Outcome RuleRunner::State::outcome_of(const Entry& entry, const Step& step) const {
  const bool known = is_known(entry, step);
  if (step.rewound && known) return {.kind = Outcome::Kind::Passed};
  const bool is_outside =
      step.step < start_of(entry) || (end_of(entry) && step.step >= *end_of(entry));
  if (!step.rewound && (is_outside || (known && entry.rule->looks_back_by_itself())))
    return {.kind = Outcome::Kind::Passed};
  Outcome outcome = outcome_at_step(*entry.rule, step);
  if (outcome.kind == Outcome::Kind::Fired &&
      entry.options.stop_at_first.value_or(options.stop_at_first))
    outcome.last = true;
  const bool holds = outcome.kind == Outcome::Kind::Failed || outcome.kind == Outcome::Kind::NotYet;
  if (known && !holds) return {.kind = Outcome::Kind::Passed};
  return outcome;
}

std::vector<Outcome> RuleRunner::State::evaluate_batch(const Entry& entry,
                                                       std::span<const Step* const> batch) const {
  const Clock::time_point begin = Clock::now();
  std::vector<Outcome> outcomes;
  for (const Step* const step : batch) {
    outcomes.push_back(outcome_of(entry, *step));
    const Outcome& outcome = outcomes.back();
    if (outcome.kind == Outcome::Kind::NotYet || outcome.last ||
        Clock::now() - begin >= kLongestBatch)
      break;
  }
  return outcomes;
}

void RuleRunner::State::work() {
  std::unique_lock lock(mutex);
  while (true) {
    Claim claimed;
    while (!ending) {
      const Clock::time_point now = Clock::now();
      Clock::time_point ask_after = Clock::time_point::max();
      claimed = claim(now, ask_after);
      if (claimed.entry != nullptr) break;
      if (ask_after == Clock::time_point::max())
        work_to_do.wait(lock);
      else
        work_to_do.wait_until(lock, ask_after);
    }
    if (ending) return;
    Entry& entry = *claimed.entry;
    entry.busy = true;
    if (claimed.batch.empty()) {
      entry.tick_is_due = false;
      const auto snapshot = tick_snapshot;
      const Clock::time_point now = tick_time;
      lock.unlock();
      Outcome outcome = runner_detail::outcome_of_tick(*entry.rule, now, snapshot);
      lock.lock();
      entry.busy = false;
      entry.exhausted = outcome.last;
      if (outcome.kind == Outcome::Kind::Fired || outcome.last) {
        entry.tick_outcome = std::move(outcome);
        news.notify_one();
      }
      continue;
    }
    lock.unlock();
    std::vector<Outcome> outcomes = evaluate_batch(entry, claimed.batch);
    lock.lock();
    entry.busy = false;
    if (Outcome& last = outcomes.back(); last.kind == Outcome::Kind::NotYet) {
      const Clock::time_point now = Clock::now();
      if (outcomes.size() > 1 || !entry.waits_since) entry.waits_since = now;
      if (has_waited_enough(entry, now)) {
        const bool known = is_known(entry, *claimed.batch[outcomes.size() - 1]);
        last.kind = known ? Outcome::Kind::Passed : Outcome::Kind::Skipped;
      } else {
        entry.ask_after = now + runner_detail::kAskAgain;
        outcomes.pop_back();
      }
    } else {
      entry.waits_since.reset();
    }
    if (outcomes.empty()) continue;
    entry.cursor += outcomes.size();
    entry.exhausted = outcomes.back().last;
    std::move(outcomes.begin(), outcomes.end(), std::back_inserter(entry.outcomes));
    if (awaited == &entry) news.notify_one();
  }
}

// ---- run()'s thread

std::int64_t RuleRunner::State::start_of(const Entry& entry) const {
  return entry.options.start_step.value_or(options.start_step);
}
std::optional<std::int64_t> RuleRunner::State::end_of(const Entry& entry) const {
  return entry.options.end_step ? entry.options.end_step : options.end_step;
}

// Ends a runner that was given the files of another one.
void RuleRunner::State::refuse_state(const std::string& kept_for) const {
  const std::string& file = journal->path();
  throw UsageError(file + ".state was kept for " + kept_for + "; remove " + file + " and " + file +
                   ".state to judge from the first step, or choose another file");
}

// Makes sure that what an earlier runner left is of this run, which is called as it was then, so
// that incidents are.
void RuleRunner::State::take_over_run(const std::vector<std::string>& runs) {
  const auto is_ours = [&](const std::string& run) {
    return std::find(run_ids.begin(), run_ids.end(), run) != run_ids.end();
  };
  if (std::none_of(runs.begin(), runs.end(), is_ours))
    refuse_state("another run than " + trial->location());
  std::vector<std::string> ids = runs;
  std::ranges::copy_if(run_ids, std::back_inserter(ids), [&](const std::string& id) {
    return std::find(runs.begin(), runs.end(), id) == runs.end();
  });
  run_ids = std::move(ids);
}

// Makes sure that it is of these rules, too, and goes on from it.
void RuleRunner::State::take_over(const RunnerState& found) {
  std::vector<RunnerState::Rule> given;
  for (const Entry& entry : entries) given.push_back({entry.options.configuration, entry.found});
  if (const std::string what = difference_of_rules(found.rules, given); !what.empty())
    refuse_state("other rules or parameters: " + what);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].found = found.rules[i].record;
    entries[i].exhausted = entries[i].found.closed;
  }
  for (const RunnerState::PendingAction& pending : found.pending) {
    const auto entry = std::ranges::find(entries, pending.rule,
                                         [](const Entry& e) { return e.found.summary.name; });
    if (entry == entries.end())
      throw FormatError(journal->path() + ".state", 0,
                        "it tells of an action of a rule that there is not: " + pending.incident);
    if (const Action* const action = action_of(pending, entry->actions))
      actions->take_over(pending, *action, journal->path() + ".state");
    else
      log(LogLevel::Warning, "an action is left undone, because it is no longer configured: " +
                                 pending.text + ", incident " + pending.incident);
  }
}

// Where there is anything to be done.
void RuleRunner::State::prepare_actions() {
  for (Entry& entry : entries) {
    if (entry.rule->stops_training()) entry.actions.push_back({.kind = Action::Kind::Stop});
    std::ranges::copy(entry.options.actions, std::back_inserter(entry.actions));
    std::ranges::copy(options.actions, std::back_inserter(entry.actions));
  }
  if (std::ranges::all_of(entries, [](const Entry& e) { return e.actions.empty(); })) return;
  ActionQueueOptions queue{.dry_run = options.dry_run};
  queue.performer.run = trial->location();
  queue.performer.webhook_authority = options.webhook_authority;
  if (!options.out.empty()) {
    queue.performer.claims_directory = runner_detail::claims_directory_of(options);
    try {
      if (!journal->found()) remove_claims(queue.performer.claims_directory);
    } catch (const std::system_error& failure) {
      throw StoreError(queue.performer.claims_directory, false, failure.what());
    }
  }
  const std::lock_guard lock(mutex);
  actions.emplace(run_ids.empty() ? std::string() : run_ids.front(), std::move(queue), [this] {
    const std::lock_guard callback_lock(mutex);
    news.notify_all();
  });
}

// Opens the journal and says from where the run is to be followed.
runner_detail::StepFeedOptions RuleRunner::State::prepare() {
  runner_detail::StepFeedOptions feed{.start_step = std::numeric_limits<std::int64_t>::max(),
                                      .end_step = 0,
                                      .wait = options.wait,
                                      .idle_timeout = options.idle_timeout,
                                      .tick_interval = options.tick_interval,
                                      .until_writer_gone = options.until_writer_gone,
                                      .notes = options.explain};
  run_ids = trial->run_ids();
  if (!options.out.empty()) journal.emplace(options);
  if (journal && journal->found()) take_over_run(journal->found()->runs);
  prepare_actions();
  trial->keep_values(kSharedBytes);
  if (journal && journal->found()) {
    take_over(*journal->found());
    feed.first_fresh_step = std::numeric_limits<std::int64_t>::max();
  }
  for (Entry& entry : entries) {
    // Rules that have ended have fallen behind.
    if (!entry.found.closed) {
      const std::int64_t known = entry.rule->looks_back_by_itself() ? entry.found.next_step : 0;
      feed.start_step = std::min(feed.start_step, std::max(start_of(entry), known));
      feed.first_fresh_step = std::min(feed.first_fresh_step, entry.found.next_step);
      const std::optional<std::size_t>& rewinds = entry.found.rewinds;
      if (rewinds) feed.rewinds_before = std::min(feed.rewinds_before.value_or(*rewinds), *rewinds);
    }
    // The first rule's outcome of a step came behind the notes.
    feed.first_fresh_note = std::max(feed.first_fresh_note, entry.found.next_step);
    const std::optional<std::int64_t> end_step = end_of(entry);
    if (feed.end_step) feed.end_step = end_step ? std::max(*feed.end_step, *end_step) : end_step;
    entry.report.emplace(entry.found, trial->name(), entry.rule->what_it_reads(),
                         entry.options.only_if_fed);
  }
  if (entries.empty()) feed = {.start_step = options.start_step, .end_step = options.end_step};
  if (journal) {
    journal->begin();
    keep(RunnerJournal::Urgency::Now);
  }
  return feed;
}

// What run()'s thread is waiting for, of a rule whose turn it is; `begins`: of a step that no
// rule's outcome was said of.
RuleRunner::State::News RuleRunner::State::wait_for_news(const Entry& entry, bool begins) {
  const auto has_tick = [](const Entry& e) { return e.tick_outcome && e.outcomes.empty(); };
  const auto look = [&]() -> std::optional<News> {
    const bool no_more = end && steps.empty();  // only where a step would begin
    if (stop_requested && !no_more) return News::Stop;
    if (begins ? std::ranges::any_of(entries, has_tick) : has_tick(entry)) return News::Between;
    if (begins && actions && actions->has_outcomes()) return News::Between;
    if (!entry.outcomes.empty()) return News::Outcome;
    if (begins && status_news) return News::Between;
    if (no_more) return News::End;
    return std::nullopt;
  };
  std::unique_lock lock(mutex);
  std::optional<News> found = look();
  if (!found) {
    lock.unlock();
    pause();
    lock.lock();
    awaited = &entry;
    wait_and_keep(lock, [&] { return (found = look()).has_value(); });
    awaited = nullptr;
  }
  return *found;
}

// Takes outcomes in the order of the lines until there is nothing more to come, or stop(). Returns
// whether it came to the end, with rules that have not ended.
bool RuleRunner::State::say_everything() {
  while (!all_closed()) {
    const Step* step = nullptr;  // the first rule's turn finds it
    for (Entry& entry : entries) {
      if (entry.closed()) continue;
      News found = wait_for_news(entry, step == nullptr);
      while (found == News::Between) {
        say_between();
        if (entry.closed()) break;
        found = wait_for_news(entry, step == nullptr);
      }
      if (entry.closed()) continue;
      if (found == News::Stop) {
        stopped = true;
        return false;
      }
      if (found == News::End) return true;
      Outcome outcome;
      const Step* next = nullptr;
      {
        const std::lock_guard lock(mutex);
        outcome = std::move(entry.outcomes.front());
        entry.outcomes.pop_front();
        next = &steps.front();
      }
      if (step == nullptr && next->notes) say_notes(*next->notes);
      step = next;
      say(entry, step, std::move(outcome));
    }
    if (step != nullptr) leave_step();
  }
  return false;
}

// Every rule's outcome was said.
void RuleRunner::State::leave_step() {
  bool half_is_said = false;
  {
    const std::lock_guard lock(mutex);
    steps.pop_front();
    half_is_said = ++steps_before % kHalf == 0;
    if (half_is_said) work_to_do.notify_all();
  }
  if (half_is_said) pause();
}

void RuleRunner::State::say(Entry& entry, const Step* step, Outcome outcome) {
  const RuleReport::News taken = entry.report->take(step, std::move(outcome), options.explain);
  for (const VerdictLine& line : taken.lines) {
    say_line(line);
    if (line.begins_incident && actions) actions->order(entry.actions, line);
  }
  if (taken.over) on_incident_over(*taken.over);
}

void RuleRunner::State::say_notes(const std::vector<Note>& notes) {
  for (const Note& note : notes) say_line(runner_detail::note_line(note, trial->name()));
}

void RuleRunner::State::say_line(const VerdictLine& line) {
  if (journal) journal->add(to_json(line));
  on_line(line);
}

// How the run stands; what was found between steps, of rules whose outcomes were all said, and what
// was done.
void RuleRunner::State::say_between() {
  std::optional<RunStatus> status;
  {
    const std::lock_guard lock(mutex);
    status = std::exchange(status_news, std::nullopt);
  }
  if (status && options.on_status) {
    on_pause();
    options.on_status(*status);
  }
  for (Entry& entry : entries) {
    std::optional<Outcome> outcome;
    {
      const std::lock_guard lock(mutex);
      if (entry.outcomes.empty()) std::swap(outcome, entry.tick_outcome);
    }
    if (outcome && !entry.closed()) say(entry, nullptr, *std::move(outcome));
  }
  if (!actions) return;
  for (const VerdictLine& line : actions->take_outcomes()) say_line(line);
}

// Waits for what was begun, and says what became of it.
void RuleRunner::State::finish_actions() {
  if (!actions) return;
  on_pause();
  {
    const std::lock_guard lock(mutex);
    if (stop_requested) actions->hurry();
  }
  actions->finish(kActionsEnd);
  for (const VerdictLine& line : actions->take_outcomes()) say_line(line);
}

// Asks every rule that is still there for the last time. Called when the other threads have ended.
void RuleRunner::State::say_ends() {
  if (stopped || !end || end->error || end->snapshot == nullptr) return;
  for (Entry& entry : entries)
    if (!entry.closed() && !entry.exhausted)
      say(entry, nullptr, runner_detail::outcome_of_end(*entry.rule, end->snapshot));
}

void RuleRunner::State::pause() {
  keep(RunnerJournal::Urgency::Soon);
  on_pause();
}

// Writes what was said, and from where to go on; then begins the actions that were called for.
void RuleRunner::State::keep(RunnerJournal::Urgency urgency) {
  bool kept = true;
  if (journal) {
    RunnerState state;
    state.runs = run_ids;
    for (const Entry& entry : entries)
      state.rules.push_back({entry.options.configuration, entry.report->record()});
    if (actions) state.pending = actions->pending();
    kept = journal->commit(std::move(state), runner_detail::time_text(), urgency);
  }
  if (kept && actions) actions->start();
}

// Waits for `done` under the lock, and writes what is due meanwhile.
template <class Done>
void RuleRunner::State::wait_and_keep(std::unique_lock<std::mutex>& lock, Done done) {
  while (!done()) {
    const auto due = journal ? journal->due() : std::nullopt;
    if (!due) {
      news.wait(lock);
    } else if (news.wait_until(lock, *due) == std::cv_status::timeout) {
      lock.unlock();
      keep(RunnerJournal::Urgency::Soon);
      lock.lock();
    }
  }
}

void RuleRunner::State::close_reports() {
  for (Entry& entry : entries) {
    RuleReport& report = *entry.report;
    if (stopped) {
      report.end(RuleStatus::Stopped, "stopped before the run ended");
    } else if (end && end->error) {
      report.end(RuleStatus::Error, text_of(end->error));
    } else {
      std::string why = report.why_it_judged_nothing();
      if (why.empty() && end && end->idle)
        why = "no new step for " + std::to_string(options.idle_timeout->count()) + " ms";
      report.end(report.record().summary.status, std::move(why));
    }
  }
}

void RuleRunner::State::end_threads() {
  {
    const std::lock_guard lock(mutex);
    ending = true;
    work_to_do.notify_all();
  }
  trial->wake();
  threads.clear();
}

RuleRunner::RuleRunner(Trial& trial, RunnerOptions options)
    : state_(std::make_unique<State>(trial, std::move(options))) {
  if (state_->options.jobs < 1)
    throw UsageError("jobs must be at least 1: " + std::to_string(state_->options.jobs));
}

RuleRunner::~RuleRunner() = default;

void RuleRunner::add(std::string_view rule, const RuleParameters& parameters, RuleOptions options) {
  for (const auto& [name, value] : parameters) options.configuration += name + "=" + value + "\n";
  add(make_builtin_rule(rule, *state_->trial, parameters), std::move(options));
}

void RuleRunner::add(std::unique_ptr<Rule> rule, RuleOptions options) {
  if (rule == nullptr) throw UsageError("a rule that is added must exist");
  if (state_->has_run) throw UsageError("rules are added before run()");
  if (rule->base_trial().location() != state_->trial->location())
    throw UsageError("a rule is added to a runner over the same trial: " +
                     rule->base_trial().location() + ", not " + state_->trial->location());
  RuleSummary summary;
  summary.rule = rule->rule_name();
  const std::string wanted = options.name.empty() ? summary.rule : options.name;
  const auto taken = [this](const std::string& text) {
    return std::ranges::any_of(state_->entries, [&text](const State::Entry& other) {
      return other.found.summary.name == text;
    });
  };
  summary.name = wanted;
  for (int number = 2; taken(summary.name); ++number)
    summary.name = wanted + "#" + std::to_string(number);
  State::Entry& entry = state_->entries.emplace_back();
  entry.rule = std::move(rule);
  entry.rule->set_explaining(state_->options.explain);
  entry.options = std::move(options);
  entry.found.summary = std::move(summary);
}

RunSummary RuleRunner::run(const LineCallback& on_line, const PauseCallback& on_pause,
                           const IncidentCallback& on_incident_over) {
  State& state = *state_;
  if (std::exchange(state.has_run, true)) throw UsageError("a runner runs once");
  state.on_line = on_line;
  state.on_pause = on_pause ? on_pause : [] {};
  state.on_incident_over = on_incident_over ? on_incident_over : [](const Incident&) {};
  const auto feed_options = state.prepare();
  const auto workers = std::min(static_cast<std::size_t>(state.options.jobs), state.entries.size());
  bool came_to_end = false;
  try {
    state.threads.emplace_back([&state, feed_options] { state.follow(feed_options); });
    for (std::size_t i = 0; i < workers; ++i)
      state.threads.emplace_back([&state] { state.work(); });
    came_to_end = state.say_everything();
  } catch (...) {
    state.end_threads();
    throw;
  }
  state.end_threads();
  if (came_to_end) state.say_between();  // a tick that was being answered
  state.keep(RunnerJournal::Urgency::Now);
  state.finish_actions();
  // The state tells of nothing that is said from here on: a runner that goes on says it anew.
  state.keep(RunnerJournal::Urgency::Now);
  if (came_to_end) state.say_notes(state.end->notes);
  state.say_ends();
  if (state.actions) state.actions->start();
  state.finish_actions();
  state.close_reports();
  state.trial->keep_values(0);
  RunSummary summary;
  std::vector<RuleRecord> records;
  for (const State::Entry& entry : state.entries) {
    if (entry.report->has_lines()) state.say_line(entry.report->closing_line());
    records.push_back(entry.report->record());
    summary.rules.push_back(records.back().summary);
  }
  if (state.journal) state.journal->close(records, runner_detail::time_text());
  if (state.end && state.end->error) std::rethrow_exception(state.end->error);
  return summary;
}

void RuleRunner::stop() { state_->request_stop(); }

RunnerProgress RuleRunner::progress() const {
  const std::lock_guard lock(state_->mutex);
  return {.newest_step = state_->newest_step,
          .newest_at = state_->newest_at,
          .steps_judged = static_cast<std::int64_t>(state_->steps_before),
          .steps_behind = static_cast<std::int64_t>(state_->steps.size())};
}

void RuleRunner::State::request_stop() {
  const std::lock_guard lock(mutex);
  stop_requested = true;
  news.notify_all();
  if (actions) actions->hurry();
}

bool RunSummary::found_issues() const noexcept {
  return std::any_of(rules.begin(), rules.end(),
                     [](const RuleSummary& rule) { return rule.steps_fired > 0; });
}

bool RunSummary::had_errors() const noexcept {
  return std::any_of(rules.begin(), rules.end(), [](const RuleSummary& rule) {
    return rule.status == RuleStatus::Error || rule.steps_damaged > 0;
  });
}

}  // namespace cupel
