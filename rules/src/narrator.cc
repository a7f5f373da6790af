// The narrator is the part of a runner in run()'s thread. It waits for the outcome of the rule
// whose turn it is; between two steps, for what the schedule calls News::Between as well. Before it
// waits, it pauses: the journal is written where that is due, and the caller flushes its lines.
//
// A journal that cannot be written ends run() by StoreError, as do errors of the callbacks. The
// journal's state is written before an action begins, and does not know what is reported after the
// last keep(): a runner that goes on reports that anew.

#include "narrator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "exception_text.h"

namespace cupel::rules_detail {
namespace {

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

Narrator::Narrator(Schedule& schedule, std::deque<RunnerRule>& rules, const RunnerOptions& options,
                   Places places, Callbacks callbacks)
    : schedule_(schedule),
      rules_(rules),
      options_(options),
      places_(std::move(places)),
      callbacks_(std::move(callbacks)) {}

bool Narrator::all_closed() const { return std::ranges::all_of(rules_, &RunnerRule::closed); }

Narrator::End Narrator::narrate() {
  while (!all_closed()) {
    const Step* step = nullptr;  // The first rule's turn finds it.
    End why{};
    if (!narrate_step(step, why)) return why;
    if (step != nullptr && schedule_.leave_step()) pause();
  }
  return End::AllRulesClosed;
}

// Reports the outcomes of all rules of one step. Returns false, and why, where none comes.
bool Narrator::narrate_step(const Step*& step, End& why) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    RunnerRule& rule = rules_[i];
    Schedule::News news = Schedule::News::Between;
    while (!rule.closed() && news == Schedule::News::Between) {
      news = next_news(i, step == nullptr);
      if (news == Schedule::News::Between) report_between();
    }
    if (rule.closed()) continue;
    if (news != Schedule::News::Outcome) {
      why = news == Schedule::News::Stop ? End::Stopped : End::NoMoreSteps;
      return false;
    }
    Schedule::Taken taken = schedule_.take_outcome(i);
    if (step == nullptr && taken.step->notes) report_notes(*taken.step->notes);
    step = taken.step;
    report(rule, step, std::move(taken.outcome));
  }
  return true;
}

Schedule::News Narrator::next_news(std::size_t rule, bool begins) {
  if (const auto found = schedule_.news(rule, begins)) return *found;
  pause();
  while (true) {
    const auto due = places_.journal != nullptr ? places_.journal->due() : std::nullopt;
    if (const auto found = schedule_.wait_for_news(rule, begins, due)) return *found;
    keep(RunnerJournal::Urgency::Soon);
  }
}

void Narrator::report(RunnerRule& rule, const Step* step, Outcome outcome) {
  const RuleReport::News taken = rule.report->take(step, std::move(outcome), options_.explain);
  for (const VerdictLine& line : taken.lines) {
    write(line);
    if (line.begins_incident && places_.actions != nullptr)
      places_.actions->order(rule.actions, line);
  }
  if (taken.over) callbacks_.on_incident_over(*taken.over);
}

void Narrator::report_notes(const std::vector<Note>& notes) {
  for (const Note& note : notes) write(note_line(note, places_.trial));
}

void Narrator::write(const VerdictLine& line) {
  if (places_.journal != nullptr) places_.journal->add(to_json(line));
  callbacks_.on_line(line);
}

void Narrator::report_between() {
  Schedule::Between between = schedule_.take_between();
  if (between.status && options_.on_status) {
    callbacks_.on_pause();
    options_.on_status(*between.status);
  }
  for (auto& [rule, outcome] : between.ticks)
    if (!rules_[rule].closed()) report(rules_[rule], nullptr, std::move(outcome));
  if (places_.actions == nullptr) return;
  for (const VerdictLine& line : places_.actions->take_outcomes()) write(line);
}

void Narrator::report_ends(const StepFeed::End& end) {
  if (end.error || end.snapshot == nullptr) return;
  for (std::size_t i = 0; i < rules_.size(); ++i)
    if (!rules_[i].closed() && !schedule_.is_exhausted(i))
      report(rules_[i], nullptr, outcome_of_end(*rules_[i].rule, end.snapshot));
}

void Narrator::start_actions() {
  if (places_.actions != nullptr) places_.actions->start();
}

void Narrator::finish_actions() {
  if (places_.actions == nullptr) return;
  callbacks_.on_pause();
  if (schedule_.stop_is_requested()) places_.actions->hurry();
  places_.actions->finish(kActionsEnd);
  for (const VerdictLine& line : places_.actions->take_outcomes()) write(line);
}

void Narrator::pause() {
  keep(RunnerJournal::Urgency::Soon);
  callbacks_.on_pause();
}

void Narrator::keep(RunnerJournal::Urgency urgency) {
  bool kept = true;
  if (places_.journal != nullptr) {
    RunnerState state;
    state.runs = places_.run_ids;
    for (const RunnerRule& rule : rules_)
      state.rules.push_back({rule.configuration.fingerprint(), rule.report->record()});
    if (places_.actions != nullptr) state.pending = places_.actions->pending();
    kept = places_.journal->commit(std::move(state), time_text(), urgency);
  }
  if (kept) start_actions();
}

RunSummary Narrator::close(bool stopped, const StepFeed::End* end) {
  RunSummary summary;
  std::vector<RuleRecord> records;
  for (RunnerRule& rule : rules_) {
    close_report(*rule.report, stopped, end);
    if (rule.report->has_lines()) write(rule.report->closing_line());
    records.push_back(rule.report->record());
    summary.rules.push_back(records.back().summary);
  }
  if (places_.journal != nullptr) places_.journal->close(records, time_text());
  return summary;
}

void Narrator::close_report(RuleReport& report, bool stopped, const StepFeed::End* end) const {
  if (stopped) return report.end(RuleStatus::Stopped, "stopped before the run ended");
  if (end != nullptr && end->error) return report.end(RuleStatus::Error, text_of(end->error));
  std::string why = report.why_it_judged_nothing();
  if (why.empty() && end != nullptr && end->idle)
    why = "no new step for " + std::to_string(options_.idle_timeout->count()) + " ms";
  report.end(report.record().summary.status, std::move(why));
}

}  // namespace cupel::rules_detail
