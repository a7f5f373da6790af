#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rule_report.h"

namespace cupel::rules_detail {

/// What a runner keeps beside its lines, so that a later runner resumes where it stopped.
struct RunnerState {
  struct Rule {
    /// RuleConfiguration::fingerprint(): a runner that resumes must have the same rules.
    std::string configuration;
    RuleRecord record;
  };
  /// An action of an incident whose outcome has not been reported yet.
  struct PendingAction {
    std::string rule;        ///< The name of the configured rule.
    std::size_t action = 0;  ///< The index of the action when the incident began.
    std::string text;        ///< The action as text; "" in a state that version 0.1 wrote.
    std::string incident;    ///< The name of the incident.
    std::string line;        ///< The verdict, as JSON.
  };

  std::string runner;             ///< Identifies the runner that wrote the state last.
  std::vector<std::string> runs;  ///< Trial::run_ids(); the first is part of incidents' names.
  std::uint64_t bytes = 0;        ///< The bytes of FILE that the records cover.
  std::vector<Rule> rules;
  std::vector<PendingAction> pending;
};

std::string to_json(const RunnerState& state);

/// Reads a state. Throws FormatError, which names `file`, for anything but the output of to_json().
RunnerState parse_runner_state(std::string_view json, const std::string& file);

/// Returns what differs between the rules of a kept state and those of a runner, for a person; ""
/// where nothing differs. Actions do not count.
std::string difference_of_rules(const std::vector<RunnerState::Rule>& kept,
                                const std::vector<RunnerState::Rule>& given);

/// Reads back a verdict that to_json() wrote. Throws FormatError, which names `file`.
VerdictLine parse_verdict_line(std::string_view json, const std::string& file);

/// Returns the status of all rules as the managed service describes it: a JSON array. `times` has
/// the time of the last change of each. `ended`: no rule is in progress any more.
std::string status_json(const std::vector<RuleRecord>& records,
                        const std::vector<std::string>& times, bool ended);

/// Returns the status and details of one rule, as status_json() has them, to detect a change.
std::string status_text(const RuleRecord& record, bool ended);

}  // namespace cupel::rules_detail
