#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cupel/rules/rule_runner.h"
#include "runner_actions.h"
#include "runner_journal.h"
#include "runner_rule.h"
#include "schedule.h"

namespace cupel::rules_detail {

/// Turns outcomes into lines, in the order step, then rule; gives them to run()'s caller, writes
/// them to the journal, and orders the actions of incidents. Of run()'s thread.
///
/// Whatever is counted of a rule is counted here, in its report, so that lines do not depend on
/// which thread was faster. Actions begin when the journal holds what ordered them.
class Narrator {
 public:
  struct Callbacks {
    RuleRunner::LineCallback on_line;
    RuleRunner::PauseCallback on_pause;
    RuleRunner::IncidentCallback on_incident_over;
  };
  struct Places {
    std::string trial;                 ///< The trial's name, for lines.
    std::vector<std::string> run_ids;  ///< For the journal's state.
    RunnerJournal* journal = nullptr;  ///< Null: lines are not kept.
    RunnerActions* actions = nullptr;  ///< Null: no rule has any.
  };
  /// Borrows all but `places` and `callbacks`.
  Narrator(Schedule& schedule, std::deque<RunnerRule>& rules, const RunnerOptions& options,
           Places places, Callbacks callbacks);

  enum class End { AllRulesClosed, NoMoreSteps, Stopped };
  /// Reports the outcomes of all steps as they come; returns why there are no more.
  End narrate();
  /// Reports how the run stands, what rules found between steps, and what became of actions.
  void report_between();
  void report_notes(const std::vector<Note>& notes);
  /// Asks each rule that has not ended for the last time.
  void report_ends(const StepFeed::End& end);
  /// Waits for the actions that were begun, and reports what became of them.
  void finish_actions();
  /// Begins actions that were ordered after the last keep().
  void start_actions();
  /// Writes lines, then the state to go on from; then begins the actions that were ordered.
  void keep(RunnerJournal::Urgency urgency);
  /// Ends the reports of all rules and writes their closing lines. `end` is null if the feed did
  /// not come to its end.
  RunSummary close(bool stopped, const StepFeed::End* end);

 private:
  bool all_closed() const;
  bool narrate_step(const Step*& step, End& why);
  Schedule::News next_news(std::size_t rule, bool begins);
  void report(RunnerRule& rule, const Step* step, Outcome outcome);
  void write(const VerdictLine& line);
  void pause();
  void close_report(RuleReport& report, bool stopped, const StepFeed::End* end) const;

  Schedule& schedule_;
  std::deque<RunnerRule>& rules_;
  const RunnerOptions& options_;
  const Places places_;
  const Callbacks callbacks_;
};

}  // namespace cupel::rules_detail
