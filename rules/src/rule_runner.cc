// The runner's threads and what passes between them:
//
//   watcher ── steps, in order ──► workers (jobs) ── outcomes per rule ──► run()'s thread ──► lines
//
// The watcher follows the run and appends each new complete step, once. A worker takes the rule
// that is furthest behind and not in anybody's hands, and evaluates its next steps. run() takes
// outcomes in the order step, then rule, so that lines do not depend on who was faster; whatever is
// counted is counted there. Rules may be kMostStepsAhead steps ahead of the lines, no more.
//
// To wake a thread takes longer than to judge a step. So while steps are many they pass in batches:
// a worker hands over what it has after kLongestBatch, and room for more steps is made by halves of
// what may be ahead. A single step passes at once.

#include "cupel/rules/rule_runner.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <ctime>
#include <deque>
#include <exception>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/builtin_rules.h"
#include "exception_text.h"

namespace cupel {
namespace {

constexpr std::size_t kMostStepsAhead = 64;
constexpr std::size_t kHalf = kMostStepsAhead / 2;
constexpr std::chrono::milliseconds kLongestBatch{1};
constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();
// After so many saved steps at which a rule saw nothing, it says why.
constexpr std::int64_t kBlindSteps = 10;
// How long to sleep at most where the store tells of no change.
constexpr std::chrono::milliseconds kLongestWait{1000};
// A store that fails for a moment is asked again after 50, 100, 200 … ms, so many times.
constexpr int kMostFailures = 8;
constexpr std::chrono::milliseconds kFirstRetry{50};

// A complete step to be judged, as it was when it was seen; or the news that a restarted training
// goes on from a step that has been seen already.
struct Step {
  bool rewound = false;
  std::int64_t step = 0;
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  std::int64_t num_workers = 1;
  std::vector<std::string> missing_workers = {};
  std::shared_ptr<const Snapshot> snapshot = nullptr;
  std::shared_ptr<const std::vector<Note>> notes = nullptr;  // to be told with it
};

// What came of one rule at one step.
struct Outcome {
  enum class Kind { Judged, Fired, Skipped, Failed, Rewound };
  Kind kind = Kind::Judged;
  Verdict verdict;      // Judged, Fired
  std::string message;  // Skipped, Failed, Fired by an exception
  bool last = false;    // The rule is not evaluated again.
};

Outcome evaluate(Rule& rule, const Step& step, bool stop_at_first) {
  Outcome outcome;
  if (step.rewound) {
    outcome.kind = Outcome::Kind::Rewound;
    return outcome;
  }
  try {
    outcome.verdict = rule.evaluate(step.step, step.snapshot);
    if (outcome.verdict.fired()) outcome.kind = Outcome::Kind::Fired;
  } catch (const RuleEvaluationConditionMet& fired) {
    outcome.kind = Outcome::Kind::Fired;
    outcome.message = fired.what();
    outcome.last = fired.end_of_rule;
  } catch (const StepUnavailable& error) {
    outcome.kind = Outcome::Kind::Skipped;
    outcome.message = exception_text(error);
  } catch (const TensorUnavailable& error) {
    outcome.kind = Outcome::Kind::Skipped;
    outcome.message = exception_text(error);
  } catch (const TensorUnavailableForStep& error) {
    outcome.kind = Outcome::Kind::Skipped;
    outcome.message = exception_text(error);
  } catch (const std::exception& error) {
    outcome.kind = Outcome::Kind::Failed;
    outcome.message = exception_text(error);
  } catch (...) {
    outcome.kind = Outcome::Kind::Failed;
    outcome.message = "an exception that is not a std::exception";
  }
  if (outcome.kind == Outcome::Kind::Failed) outcome.last = true;
  if (outcome.kind == Outcome::Kind::Fired && stop_at_first) outcome.last = true;
  return outcome;
}

std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.", &utc);
  const auto thousandths =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::string digits = std::to_string(1000 + thousandths);
  return std::string(text.data(), length) + digits.substr(1) + "Z";
}

std::string in_words(const Finding& finding, std::int64_t num_workers) {
  std::string text = finding.tensor;
  if (num_workers > 1) text += " (" + finding.worker + ")";
  return text + ": " + finding.message;
}

// The first findings in words, the others counted.
std::string findings_message(const Verdict& verdict, std::int64_t num_workers) {
  constexpr std::size_t kInWords = 3;
  const std::vector<Finding>& findings = verdict.findings();
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), kInWords); ++i)
    text += (i == 0 ? "" : "; ") + in_words(findings[i], num_workers);
  const auto listed = static_cast<std::int64_t>(std::min(findings.size(), kInWords));
  const std::int64_t more =
      static_cast<std::int64_t>(findings.size()) - listed + verdict.findings_beyond();
  if (more > 0) text += "; and " + std::to_string(more) + " more";
  if (verdict.findings_beyond() > 0)
    text += " (" + std::to_string(verdict.findings_beyond()) + " of them are not listed)";
  return text;
}

// The notes of the steps from `begin` to before `end`. One that is damaged becomes a note that says
// so: rules can be judged without it.
void read_notes(const Trial& trial, std::int64_t begin, std::int64_t end, std::vector<Note>& into) {
  try {
    std::ranges::move(trial.notes({begin, end}), std::back_inserter(into));
  } catch (const FormatError& damage) {
    if (end - begin == 1) {
      into.push_back({begin, "", std::string("a note cannot be read: ") + damage.what()});
      return;
    }
    const std::int64_t middle = begin + (end - begin) / 2;
    read_notes(trial, begin, middle, into);
    read_notes(trial, middle, end, into);
  }
}

// Why a rule saw nothing at a step; "" where it saw something.
std::string why_blind(const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::Skipped) return outcome.message;
  if (outcome.kind != Outcome::Kind::Judged) return {};
  const Verdict& verdict = outcome.verdict;
  if (!verdict.applicable()) return verdict.why_not_applicable();
  if (verdict.datapoints() > 0 || verdict.skips().empty()) return {};
  return verdict.skips().front().tensor + ": " + verdict.skips().front().reason;
}

}  // namespace

struct RuleRunner::State {
  // One rule with its cursor. What is below `summary` belongs to run()'s thread, the rest to
  // `mutex`.
  struct Entry {
    std::unique_ptr<Rule> rule;
    std::size_t cursor = 0;  // The next step to evaluate, counted from the first.
    bool busy = false;       // In the hands of a worker.
    bool exhausted = false;  // Not to be evaluated again.
    bool awaited = false;    // By run()'s thread.
    std::deque<Outcome> outcomes;

    RuleSummary summary;
    bool closed = false;  // Its last outcome has been said.
    std::int64_t blind_steps = 0;
    std::string blind_reason;
    std::optional<Step> last_step;
  };

  State(Trial& shared, RunnerOptions runner_options)
      : trial(shared.view()), options(runner_options) {}

  bool all_closed() const {
    return std::all_of(entries.begin(), entries.end(), [](const Entry& e) { return e.closed; });
  }

  void watch();
  bool publish_steps();
  void attach_notes(std::vector<Step>& fresh);
  std::vector<Note> fresh_notes(std::int64_t end);
  void work();
  std::size_t steps_to_go_to() const;
  Entry* claim_rule();
  std::vector<Outcome> evaluate_batch(Rule& rule, std::span<const Step* const> batch) const;
  void say_everything(const LineCallback& on_line, const PauseCallback& on_pause);
  void say(Entry& entry, const Step& step, Outcome outcome, const LineCallback& on_line);
  void say_closing(Entry& entry, const LineCallback& on_line);
  void say_notes(const std::vector<Note>& notes, const LineCallback& on_line) const;
  void note_blindness(Entry& entry, const Outcome& outcome);
  void end_threads();
  VerdictLine line_of(const Entry& entry, const Step* step) const;

  const std::unique_ptr<Trial> trial;
  const RunnerOptions options;
  std::deque<Entry> entries;  // fixed once run() has begun
  bool has_run = false;
  bool stopped = false;  // stop() cut off what was still to be said; of run()'s thread

  std::mutex mutex;
  std::condition_variable work_to_do;  // for workers
  std::condition_variable news;        // for run()'s thread
  // Guarded by mutex, as are the upper halves of the entries:
  std::deque<Step> steps;        // those that some rule has still to see
  std::size_t steps_before = 0;  // how many have left `steps` at the front
  bool no_more_steps = false;
  bool idle = false;
  bool stop_requested = false;
  bool ending = false;  // run() has no use for more outcomes
  std::exception_ptr trial_error;
  std::vector<Note> last_notes;  // behind the last step; fixed once there are no more steps
  // Of the watcher:
  std::optional<std::int64_t> last_published;
  std::shared_ptr<const Snapshot> last_snapshot;
  std::int64_t noted_before = 0;  // notes of steps before this one are told
  // Which those are: after a rewind some steps are looked at again.
  std::set<std::tuple<std::int64_t, std::string, std::string>> noted;
  // Joined in the reverse order of their making, before everything above goes.
  std::vector<std::jthread> threads;
};

// Appends the steps that came since the last call; returns whether there can be more.
bool RuleRunner::State::publish_steps() {
  const bool ended = trial->ended();
  const std::shared_ptr<const Snapshot> snapshot = trial->snapshot();
  const PinnedView pin(*trial, snapshot, std::nullopt);
  const std::int64_t num_workers = trial->num_workers();
  std::vector<Step> fresh;
  if (last_snapshot && last_published) {
    const std::optional<std::int64_t> rewound_to = trial->rewound_to(*last_snapshot);
    if (rewound_to && *rewound_to <= *last_published)
      fresh.push_back({.rewound = true,
                       .step = *rewound_to,
                       .mode = trial->mode(*rewound_to).value_or(Mode::Global),
                       .mode_step = trial->mode_step(*rewound_to).value_or(*rewound_to)});
  }
  if (!fresh.empty()) noted_before = std::clamp<std::int64_t>(fresh.front().step, 0, noted_before);
  last_snapshot = snapshot;
  const std::int64_t first =
      last_published ? *last_published + (*last_published < kNoStep ? 1 : 0) : options.start_step;
  for (const std::int64_t step : trial->steps_from(first)) {
    if ((options.end_step && step >= *options.end_step) || step == last_published) break;
    fresh.push_back({.step = step,
                     .mode = trial->mode(step).value_or(Mode::Global),
                     .mode_step = trial->mode_step(step).value_or(step),
                     .num_workers = num_workers,
                     .missing_workers = num_workers > 1 ? trial->missing_workers(step)
                                                        : std::vector<std::string>(),
                     .snapshot = snapshot});
    last_published = step;
  }
  if (options.explain) attach_notes(fresh);
  const bool passed_end =
      options.end_step && (*options.end_step <= options.start_step ||
                           trial->last_complete_step() >= *options.end_step - 1);
  const std::lock_guard lock(mutex);
  if (!fresh.empty()) {
    std::move(fresh.begin(), fresh.end(), std::back_inserter(steps));
    work_to_do.notify_all();
  }
  return !ended && !passed_end;
}

// The notes before a step that were not told yet; of a pinned trial.
std::vector<Note> RuleRunner::State::fresh_notes(std::int64_t end) {
  std::vector<Note> notes;
  if (end <= noted_before) return notes;
  try {
    read_notes(*trial, noted_before, end, notes);
  } catch (const StoreError& failure) {
    log(LogLevel::Warning, failure.what());  // they come with the next step
    return {};
  }
  noted_before = end;
  std::erase_if(notes, [this](const Note& note) {
    return !noted.emplace(note.step, note.worker, note.text).second;
  });
  return notes;
}

void RuleRunner::State::attach_notes(std::vector<Step>& fresh) {
  const auto last = std::find_if(fresh.rbegin(), fresh.rend(), [](auto& s) { return !s.rewound; });
  if (last == fresh.rend()) return;
  std::vector<Note> notes = fresh_notes(last->step < kNoStep ? last->step + 1 : kNoStep);
  auto note = notes.begin();
  for (Step& step : fresh) {
    if (step.rewound) continue;
    const auto begin = note;
    while (note != notes.end() && note->step <= step.step) ++note;
    if (note != begin)
      step.notes = std::make_shared<const std::vector<Note>>(std::make_move_iterator(begin),
                                                             std::make_move_iterator(note));
  }
}

void RuleRunner::State::watch() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_news = Clock::now();
  std::optional<std::int64_t> newest;
  int failures = 0;
  bool is_idle = false;
  std::exception_ptr error;
  while (true) {
    try {
      trial->refresh();
      const bool more = publish_steps();
      failures = 0;
      const std::lock_guard lock(mutex);
      if (!more || !options.wait || ending) break;
      if (newest != last_published) {
        newest = last_published;
        last_news = Clock::now();
      }
    } catch (const StoreError& failure) {
      if (!failure.retryable || !options.wait || ++failures > kMostFailures) {
        error = std::current_exception();
        break;
      }
      log(LogLevel::Warning, failure.what());
    } catch (...) {
      error = std::current_exception();
      break;
    }
    std::chrono::milliseconds at_most =
        failures == 0 ? kLongestWait : kFirstRetry * (1 << (failures - 1));
    if (options.idle_timeout) {
      const auto silent =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_news);
      if (silent >= *options.idle_timeout) {
        is_idle = true;
        break;
      }
      at_most = std::min(at_most, *options.idle_timeout - silent);
    }
    try {
      trial->wait_for_change(at_most);
    } catch (...) {
      error = std::current_exception();
      break;
    }
  }
  if (error) {
    // What was committed before the damage is judged all the same. Asking may tell of more damage,
    // each once.
    constexpr int kAttempts = 3;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      try {
        publish_steps();
        break;
      } catch (const std::exception& again) {
        log(LogLevel::Debug, again.what());
      }
    }
  }
  std::vector<Note> remaining;
  if (options.explain && last_snapshot) {
    const PinnedView pin(*trial, last_snapshot, std::nullopt);
    remaining = fresh_notes(options.end_step.value_or(kNoStep));
  }
  const std::lock_guard lock(mutex);
  last_notes = std::move(remaining);
  no_more_steps = true;
  idle = is_idle;
  trial_error = error;
  work_to_do.notify_all();
  news.notify_all();
}

// Up to where steps may be evaluated, counted from the first; called under the lock.
std::size_t RuleRunner::State::steps_to_go_to() const {
  return std::min(steps_before + steps.size(), steps_before / kHalf * kHalf + kMostStepsAhead);
}

// The rule furthest behind that has a step to go to; called under the lock.
RuleRunner::State::Entry* RuleRunner::State::claim_rule() {
  Entry* furthest_behind = nullptr;
  const std::size_t end = steps_to_go_to();
  for (Entry& entry : entries) {
    if (entry.busy || entry.exhausted || entry.cursor >= end) continue;
    if (furthest_behind == nullptr || entry.cursor < furthest_behind->cursor)
      furthest_behind = &entry;
  }
  return furthest_behind;
}

std::vector<Outcome> RuleRunner::State::evaluate_batch(Rule& rule,
                                                       std::span<const Step* const> batch) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::vector<Outcome> outcomes;
  for (const Step* const step : batch) {
    outcomes.push_back(evaluate(rule, *step, options.stop_at_first));
    if (outcomes.back().last || Clock::now() - begin >= kLongestBatch) break;
  }
  return outcomes;
}

void RuleRunner::State::work() {
  std::unique_lock lock(mutex);
  while (true) {
    Entry* entry = nullptr;
    work_to_do.wait(lock, [&] { return ending || (entry = claim_rule()) != nullptr; });
    if (ending) return;
    entry->busy = true;
    // They stay where they are until every rule's outcome was said.
    std::vector<const Step*> batch;
    for (std::size_t i = entry->cursor, end = steps_to_go_to(); i < end; ++i)
      batch.push_back(&steps[i - steps_before]);
    lock.unlock();
    std::vector<Outcome> outcomes = evaluate_batch(*entry->rule, batch);
    lock.lock();
    entry->busy = false;
    entry->cursor += outcomes.size();
    entry->exhausted = outcomes.back().last;
    std::move(outcomes.begin(), outcomes.end(), std::back_inserter(entry->outcomes));
    if (entry->awaited) news.notify_one();
  }
}

// Takes outcomes in the order of the lines until there is nothing more to come, or stop().
void RuleRunner::State::say_everything(const LineCallback& on_line, const PauseCallback& on_pause) {
  while (!all_closed()) {
    const Step* step = nullptr;  // the first rule's turn finds it
    for (Entry& entry : entries) {
      if (entry.closed) continue;
      Outcome outcome;
      {
        std::unique_lock lock(mutex);
        const auto has_come = [&] {
          return stop_requested || !entry.outcomes.empty() || (no_more_steps && steps.empty());
        };
        if (!has_come()) {
          lock.unlock();
          on_pause();
          lock.lock();
          entry.awaited = true;
          news.wait(lock, has_come);
          entry.awaited = false;
        }
        // Only before the first rule's turn can there be no step to wait for.
        if (steps.empty() && no_more_steps) {
          lock.unlock();
          return say_notes(last_notes, on_line);
        }
        if (stop_requested) {
          stopped = true;
          return;
        }
        outcome = std::move(entry.outcomes.front());
        entry.outcomes.pop_front();
        if (step == nullptr) {
          step = &steps.front();
          lock.unlock();
          if (step->notes) say_notes(*step->notes, on_line);
        }
      }
      say(entry, *step, std::move(outcome), on_line);
    }
    bool half_is_said = false;
    {
      const std::lock_guard lock(mutex);
      steps.pop_front();
      half_is_said = ++steps_before % kHalf == 0;
      if (half_is_said) work_to_do.notify_all();
    }
    if (half_is_said) on_pause();
  }
}

VerdictLine RuleRunner::State::line_of(const Entry& entry, const Step* step) const {
  VerdictLine line;
  line.time = time_text();
  line.trial = trial->name();
  line.rule = entry.summary.rule;
  line.name = entry.summary.name;
  if (step != nullptr) {
    line.step = step->step;
    line.mode = step->mode;
    line.mode_step = step->mode_step;
    line.num_workers = step->num_workers;
  }
  return line;
}

void RuleRunner::State::say_notes(const std::vector<Note>& notes,
                                  const LineCallback& on_line) const {
  for (const Note& note : notes) {
    VerdictLine line;
    line.time = time_text();
    line.trial = trial->name();
    line.step = note.step;
    line.status = RuleStatus::Noted;
    line.message = note.text;
    line.note = note;
    on_line(line);
  }
}

void RuleRunner::State::note_blindness(Entry& entry, const Outcome& outcome) {
  if (entry.blind_steps + 1 != entry.summary.steps_evaluated) return;  // it has seen something
  std::string reason = why_blind(outcome);
  if (reason.empty()) return;
  ++entry.blind_steps;
  entry.blind_reason = std::move(reason);
  if (entry.blind_steps == kBlindSteps)
    log(LogLevel::Warning, "rule " + entry.summary.name + " saw nothing in its first " +
                               std::to_string(kBlindSteps) + " saved steps: " + entry.blind_reason +
                               "; it reads " + entry.rule->what_it_reads());
}

void RuleRunner::State::say(Entry& entry, const Step& step, Outcome outcome,
                            const LineCallback& on_line) {
  RuleSummary& summary = entry.summary;
  if (outcome.kind == Outcome::Kind::Rewound) {
    VerdictLine line = line_of(entry, &step);
    line.status = RuleStatus::Rewound;
    line.message =
        "training goes on from here once more; steps that were judged are not judged again";
    on_line(line);
    return;
  }
  entry.last_step = step;
  entry.last_step->snapshot.reset();
  entry.closed = outcome.last;
  if (outcome.kind == Outcome::Kind::Failed) {
    summary.status = RuleStatus::Error;
    summary.message = outcome.message;
    return;
  }
  ++summary.steps_evaluated;
  const Verdict& verdict = outcome.verdict;
  if (outcome.kind == Outcome::Kind::Skipped || !verdict.skips().empty()) ++summary.steps_skipped;
  note_blindness(entry, outcome);

  if (options.explain) {
    VerdictLine line = line_of(entry, &step);
    line.status = RuleStatus::Explained;
    line.missing_workers = step.missing_workers;
    line.observations = verdict.observations();
    line.skips = verdict.skips();
    if (outcome.kind == Outcome::Kind::Skipped) {
      line.message = "skipped: " + outcome.message;
    } else if (!verdict.applicable()) {
      line.message = "not applicable: " + verdict.why_not_applicable();
    } else if (verdict.observations().empty() && verdict.skips().empty()) {
      line.message = "the rule tells nothing of what it looked at";
    }
    on_line(line);
  }
  if (outcome.kind == Outcome::Kind::Fired) {
    ++summary.steps_fired;
    if (!summary.first_step) summary.first_step = step.step;
    summary.status = RuleStatus::IssuesFound;
    VerdictLine line = line_of(entry, &step);
    line.status = RuleStatus::IssuesFound;
    line.missing_workers = step.missing_workers;
    line.findings_beyond = verdict.findings_beyond();
    line.message =
        outcome.message.empty() ? findings_message(verdict, step.num_workers) : outcome.message;
    line.tensors = std::move(outcome.verdict).findings();
    on_line(line);
  }
}

// Called when the other threads have ended.
void RuleRunner::State::say_closing(Entry& entry, const LineCallback& on_line) {
  RuleSummary& summary = entry.summary;
  if (!entry.closed) {
    if (stopped) {
      if (summary.steps_fired == 0) summary.status = RuleStatus::Stopped;
      summary.message = "stopped before the run ended";
    } else if (trial_error) {
      summary.status = RuleStatus::Error;
      try {
        std::rethrow_exception(trial_error);
      } catch (const std::exception& failure) {
        summary.message = exception_text(failure);
      } catch (...) {
        summary.message = "the run could not be read";
      }
    } else if (entry.blind_steps > 0 && entry.blind_steps == summary.steps_evaluated) {
      summary.message = "saw nothing in its " + std::to_string(entry.blind_steps) +
                        " saved steps: " + entry.blind_reason + "; it reads " +
                        entry.rule->what_it_reads();
    } else if (idle) {
      summary.message =
          "no new step for " +
          std::to_string(options.idle_timeout.value_or(std::chrono::milliseconds(0)).count()) +
          " ms";
    }
  }
  VerdictLine line = line_of(entry, entry.last_step ? &*entry.last_step : nullptr);
  line.final_line = true;
  line.status = summary.status;
  line.message = summary.message;
  line.first_step = summary.first_step;
  line.steps_evaluated = summary.steps_evaluated;
  line.steps_skipped = summary.steps_skipped;
  on_line(line);
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
    : state_(std::make_unique<State>(trial, options)) {
  if (options.jobs < 1)
    throw UsageError("jobs must be at least 1: " + std::to_string(options.jobs));
}

RuleRunner::~RuleRunner() = default;

void RuleRunner::add(std::string_view rule, const RuleParameters& parameters,
                     std::string_view name) {
  add(make_builtin_rule(rule, *state_->trial, parameters), name);
}

void RuleRunner::add(std::unique_ptr<Rule> rule, std::string_view name) {
  if (rule == nullptr) throw UsageError("a rule that is added must exist");
  if (state_->has_run) throw UsageError("rules are added before run()");
  if (rule->base_trial().location() != state_->trial->location())
    throw UsageError("a rule is added to a runner over the same trial: " +
                     rule->base_trial().location() + ", not " + state_->trial->location());
  State::Entry& entry = state_->entries.emplace_back();
  entry.rule = std::move(rule);
  entry.rule->set_explaining(state_->options.explain);
  entry.summary.rule = entry.rule->rule_name();
  const std::string wanted = name.empty() ? entry.summary.rule : std::string(name);
  const auto taken = [this](const std::string& text) {
    return std::any_of(state_->entries.begin(), state_->entries.end(),
                       [&text](const State::Entry& other) { return other.summary.name == text; });
  };
  std::string unique = wanted;
  for (int number = 2; taken(unique); ++number) unique = wanted + "#" + std::to_string(number);
  entry.summary.name = unique;
}

RunSummary RuleRunner::run(const LineCallback& on_line, const PauseCallback& on_pause) {
  State& state = *state_;
  if (std::exchange(state.has_run, true)) throw UsageError("a runner runs once");
  const auto workers = std::min(static_cast<std::size_t>(state.options.jobs), state.entries.size());
  try {
    state.threads.emplace_back([&state] { state.watch(); });
    for (std::size_t i = 0; i < workers; ++i)
      state.threads.emplace_back([&state] { state.work(); });
    state.say_everything(
        on_line, on_pause ? on_pause : [] {});
  } catch (...) {
    state.end_threads();
    throw;
  }
  state.end_threads();
  RunSummary summary;
  for (State::Entry& entry : state.entries) {
    state.say_closing(entry, on_line);
    summary.rules.push_back(entry.summary);
  }
  if (state.trial_error) std::rethrow_exception(state.trial_error);
  return summary;
}

void RuleRunner::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stop_requested = true;
  state_->news.notify_all();
}

bool RunSummary::found_issues() const noexcept {
  return std::any_of(rules.begin(), rules.end(),
                     [](const RuleSummary& rule) { return rule.steps_fired > 0; });
}

bool RunSummary::had_errors() const noexcept {
  return std::any_of(rules.begin(), rules.end(),
                     [](const RuleSummary& rule) { return rule.status == RuleStatus::Error; });
}

}  // namespace cupel
