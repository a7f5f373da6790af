// The runner's threads and what passes between them:
//
//   StepFeed ── steps, in order ──► Schedule ◄── claims, outcomes ──► judging threads (jobs)
//                                      │ outcomes by step, then rule
//                                      ▼
//                                   Narrator (run()'s thread) ──► lines, journal, actions
//
// The feed follows the run and adds each new complete step, once. Between steps a rule that has
// judged all there are is asked at ticks; what it finds there is reported between two steps. An
// error of the run ends the feed, and is thrown by run() behind the closing lines; an error of the
// journal or of a callback ends run() at once.

#include "cupel/rules/rule_runner.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "claims.h"
#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "narrator.h"
#include "resumption.h"
#include "schedule.h"
#include "stop_signal.h"

namespace cupel {

using namespace rules_detail;

namespace {

// What rules that go side by side share, and one that looks back finds again.
constexpr std::uint64_t kSharedBytes = std::uint64_t{128} << 20U;

}  // namespace

struct RuleRunner::State : StepFeed::Sink {
  State(Trial& shared, RunnerOptions runner_options)
      : trial(shared.view()),
        follower(*trial),
        options(std::move(runner_options)),
        schedule({.wait = options.wait, .idle_timeout = options.idle_timeout}) {}

  // Of the feed, whose thread calls them.
  void add(std::vector<Step> fresh) override { schedule.add(std::move(fresh)); }
  void tick(Schedule::Clock::time_point now, std::shared_ptr<const Snapshot> snapshot) override;
  void status_changed(RunStatus status) override { schedule.change_status(status); }
  bool enough() override { return schedule.is_left(); }

  void work();          // of a worker's thread
  void request_stop();  // from any thread

  // The phases of run(), in this order.
  void open_journal();
  void prepare_actions();
  rules_detail::StepFeedOptions resume();
  Narrator::End judge(Narrator& narrator, const rules_detail::StepFeedOptions& feed_options);
  void judge_the_end(Narrator& narrator, Narrator::End end);
  void begin_threads(const rules_detail::StepFeedOptions& feed_options);  // of judge(), likewise
  void end_threads();
  // Null if no rule has an action.
  RunnerActions* find_actions() {
    const MutexLock lock(actions_mutex);
    return actions.get();
  }

  const std::unique_ptr<Trial> trial;
  RunFollower follower;
  const RunnerOptions options;
  std::deque<RunnerRule> rules;  // fixed once run() has begun
  Schedule schedule;
  bool has_run = false;
  rules_detail::StopSignal stop_signal;  // of the feed's thread
  std::vector<std::string> run_ids;  // asked for before the feed's thread has the trial for itself
  std::optional<RunnerJournal> journal;
  Mutex actions_mutex;
  // Null where there are none; made before threads begin, and constant from then on.
  std::unique_ptr<RunnerActions> actions CUPEL_GUARDED_BY(actions_mutex);
  // Joined in the reverse order of their making, before everything above goes.
  std::vector<std::jthread> threads;
};

void RuleRunner::State::tick(Schedule::Clock::time_point now,
                             std::shared_ptr<const Snapshot> snapshot) {
  if (stop_signal.expired(follower, std::chrono::system_clock::now())) request_stop();
  schedule.add_tick(now, std::move(snapshot));
}

void RuleRunner::State::work() {
  while (const auto claim = schedule.wait_for_claim()) {
    const RunnerRule& rule = rules[claim->rule];
    std::vector<Outcome> outcomes;
    if (claim->steps.empty())
      outcomes.push_back(rules_detail::outcome_of_tick(*rule.rule, claim->tick, claim->snapshot));
    else
      outcomes = ask(rule, claim->steps);
    schedule.finish(*claim, std::move(outcomes), Schedule::Clock::now());
  }
}

void RuleRunner::State::request_stop() {
  schedule.request_stop();
  const MutexLock lock(actions_mutex);
  if (actions) actions->hurry();
}

// ---- The phases of run()

void RuleRunner::State::open_journal() {
  run_ids = follower.run_ids();
  if (options.out.empty()) return;
  journal.emplace(options, trial->schemes());
  run_ids = resume_run(*journal, std::move(run_ids), trial->location());
}

// Makes the queue of actions, if any rule has one.
void RuleRunner::State::prepare_actions() {
  for (RunnerRule& rule : rules) {
    if (rule.rule->stops_training()) rule.actions.push_back({.kind = Action::Kind::Stop});
    std::ranges::copy(rule.configuration.actions, std::back_inserter(rule.actions));
    std::ranges::copy(options.actions, std::back_inserter(rule.actions));
  }
  if (std::ranges::all_of(rules, [](const RunnerRule& rule) { return rule.actions.empty(); }))
    return;
  ActionQueueOptions queue{.dry_run = options.dry_run};
  queue.performer.run = trial->location();
  queue.performer.schemes = trial->schemes();
  queue.performer.webhook_authority = options.webhook_authority;
  if (journal) {
    queue.performer.claims_directory = rules_detail::claims_directory_of(options, trial->schemes());
    try {
      if (!journal->found()) remove_claims(queue.performer.claims_directory);
    } catch (const std::system_error& failure) {
      throw StoreError(queue.performer.claims_directory, false, failure.what());
    }
  }
  const MutexLock lock(actions_mutex);
  actions =
      std::make_unique<RunnerActions>(run_ids.empty() ? std::string() : run_ids.front(),
                                      std::move(queue), [this] { schedule.announce_actions(); });
}

// Goes on from what an earlier runner left, and returns from where to follow the run.
rules_detail::StepFeedOptions RuleRunner::State::resume() {
  if (journal) {
    resume_rules(*journal, rules);
    resume_actions(*journal, rules, find_actions());
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    RunnerRule& rule = rules[i];
    if (rule.found.closed) schedule.close(i);
    rule.report.emplace(rule.found, trial->name(), rule.rule->what_it_reads(),
                        rule.configuration.only_if_fed);
  }
  if (journal) journal->begin();
  return feed_options(rules, options, journal && journal->found());
}

// Judges steps as they come, until there are no more; the threads live in here.
Narrator::End RuleRunner::State::judge(Narrator& narrator,
                                       const rules_detail::StepFeedOptions& feed_options) {
  follower.keep_values(kSharedBytes);
  Narrator::End end{};
  try {
    begin_threads(feed_options);
    end = narrator.narrate();
  } catch (...) {
    end_threads();
    throw;
  }
  end_threads();
  if (end == Narrator::End::NoMoreSteps) narrator.report_between();  // A tick came meanwhile.
  return end;
}

void RuleRunner::State::begin_threads(const rules_detail::StepFeedOptions& feed_options) {
  threads.emplace_back([this, feed_options] {
    StepFeed feed(*trial, follower, *this, feed_options);
    schedule.end(feed.follow());
  });
  for (std::size_t i = 0; i < std::min(static_cast<std::size_t>(options.jobs), rules.size()); ++i)
    threads.emplace_back([this] { work(); });
}

void RuleRunner::State::end_threads() {
  schedule.leave();
  follower.wake();
  threads.clear();
}

// Asks rules for the last time, and waits for all actions.
void RuleRunner::State::judge_the_end(Narrator& narrator, Narrator::End end) {
  narrator.keep(RunnerJournal::Urgency::Now);
  narrator.finish_actions();
  // The state knows nothing that is reported from here on: a runner that goes on reports it anew.
  narrator.keep(RunnerJournal::Urgency::Now);
  const StepFeed::End* const last = schedule.ended();
  if (end == Narrator::End::NoMoreSteps) narrator.report_notes(last->notes);
  if (end != Narrator::End::Stopped && last != nullptr) narrator.report_ends(*last);
  narrator.start_actions();
  narrator.finish_actions();
  follower.keep_values(0);
}

// ---- What callers see

RuleRunner::RuleRunner(Trial& trial, RunnerOptions options)
    : state_(std::make_unique<State>(trial, std::move(options))) {
  if (state_->options.jobs < 1)
    throw UsageError("jobs must be at least 1: " + std::to_string(state_->options.jobs));
}

RuleRunner::~RuleRunner() = default;

void RuleRunner::add(std::string_view rule, RuleParameters parameters) {
  builtin_rules().require(rule);
  add({.definition = builtin_rules().find(rule), .parameters = std::move(parameters)});
}

void RuleRunner::add(const RuleConfiguration& configuration) {
  add(configuration.make(*state_->trial), configuration);
}

void RuleRunner::add(std::unique_ptr<Rule> rule, RuleConfiguration configuration) {
  if (rule == nullptr) throw UsageError("a rule that is added must exist");
  if (state_->has_run) throw UsageError("rules are added before run()");
  if (rule->base_trial().location() != state_->trial->location())
    throw UsageError("a rule is added to a runner over the same trial: " +
                     rule->base_trial().location() + ", not " + state_->trial->location());
  RuleSummary summary;
  summary.rule = rule->rule_name();
  const std::string wanted = configuration.name.empty() ? summary.rule : configuration.name;
  const auto taken = [this](const std::string& text) {
    return std::ranges::any_of(state_->rules, [&text](const RunnerRule& other) {
      return other.found.summary.name == text;
    });
  };
  summary.name = wanted;
  for (int number = 2; taken(summary.name); ++number)
    summary.name = wanted + "#" + std::to_string(number);
  const RunnerOptions& defaults = state_->options;
  RunnerRule& added = state_->rules.emplace_back();
  state_->schedule.add_rule();
  added.rule = std::move(rule);
  RuleEvaluation(*added.rule).set_explaining(defaults.explain);
  added.start_step = configuration.start_step.value_or(defaults.start_step);
  added.end_step = configuration.end_step ? configuration.end_step : defaults.end_step;
  added.stop_at_first = configuration.stop_at_first.value_or(defaults.stop_at_first);
  added.configuration = std::move(configuration);
  added.found.summary = std::move(summary);
}

RunSummary RuleRunner::run(const LineCallback& on_line, const PauseCallback& on_pause,
                           const IncidentCallback& on_incident_over) {
  State& state = *state_;
  if (std::exchange(state.has_run, true)) throw UsageError("a runner runs once");
  state.open_journal();
  state.prepare_actions();
  const rules_detail::StepFeedOptions feed_options = state.resume();
  Narrator narrator(
      state.schedule, state.rules, state.options,
      {.trial = state.trial->name(),
       .run_ids = state.run_ids,
       .journal = state.journal ? &*state.journal : nullptr,
       .actions = state.find_actions()},
      {.on_line = on_line,
       .on_pause = on_pause ? on_pause : [] {},
       .on_incident_over = on_incident_over ? on_incident_over : [](const Incident&) {}});
  if (state.journal) narrator.keep(RunnerJournal::Urgency::Now);
  const Narrator::End end = state.judge(narrator, feed_options);
  state.judge_the_end(narrator, end);
  const StepFeed::End* const last = state.schedule.ended();
  RunSummary summary = narrator.close(end == Narrator::End::Stopped, last);
  if (last != nullptr && last->error) std::rethrow_exception(last->error);
  return summary;
}

void RuleRunner::stop() { state_->request_stop(); }

RunnerProgress RuleRunner::progress() const { return state_->schedule.progress(); }

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
