#pragma once

#include <deque>
#include <string>
#include <vector>

#include "runner_actions.h"
#include "runner_journal.h"
#include "runner_rule.h"
#include "step_feed.h"

namespace cupel::rules_detail {

/// Makes sure that what an earlier runner left in the journal is of this run. Returns the run's ids
/// with those first that the earlier runner knew, so that incidents keep their names. Throws
/// UsageError where the journal was kept for another run.
std::vector<std::string> resume_run(const RunnerJournal& journal, std::vector<std::string> run_ids,
                                    const std::string& location);

/// Gives each rule the record that an earlier runner left of it. Throws UsageError where the
/// journal was kept for other rules or parameters.
void resume_rules(const RunnerJournal& journal, std::deque<RunnerRule>& rules);

/// Orders the actions that an earlier runner had pending; `actions` is null where no rule has any.
/// An action that is no longer configured is logged and left out. Throws FormatError for one of a
/// rule that does not exist.
void resume_actions(const RunnerJournal& journal, const std::deque<RunnerRule>& rules,
                    RunnerActions* actions);

/// From which step to which the feed follows the run, so that each rule gets the steps that it
/// judges, and those that it has to remember. `resumes`: an earlier runner left its state.
StepFeedOptions feed_options(const std::deque<RunnerRule>& rules, const RunnerOptions& options,
                             bool resumes);

}  // namespace cupel::rules_detail
