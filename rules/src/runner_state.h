#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rule_report.h"

namespace cupel::runner_detail {

/// What a runner keeps beside its lines, so that one that was killed goes on where it stopped.
struct RunnerState {
  struct Rule {
    /// Parameters as lines of text: whoever goes on must have been given the same.
    std::string configuration;
    RuleRecord record;
  };
  /// An action that an incident called for and that has not been told of yet.
  struct PendingAction {
    std::string rule;        ///< The configuration's name.
    std::size_t action = 0;  ///< Which of the rule's it was when the incident began.
    std::string text;        ///< The same as text; "" in a state that version 0.1 wrote.
    std::string incident;
    std::string line;  ///< The verdict, as JSON.
  };

  std::string runner;             ///< Tells who wrote it last.
  std::vector<std::string> runs;  ///< Trial::run_ids(); the first is part of incidents' names.
  std::uint64_t bytes = 0;        ///< How much of the lines' file these records tell of.
  std::vector<Rule> rules;
  std::vector<PendingAction> pending;
};

std::string to_json(const RunnerState& state);

/// Throws FormatError naming `file` for anything else than to_json() makes.
RunnerState parse_runner_state(std::string_view json, const std::string& file);

/// What differs between the rules that a state was kept for and those of a runner, for a person; ""
/// where nothing does. Actions do not count.
std::string difference_of_rules(const std::vector<RunnerState::Rule>& kept,
                                const std::vector<RunnerState::Rule>& given);

/// Reads back a verdict that to_json() wrote; throws FormatError naming `file`.
VerdictLine parse_verdict_line(std::string_view json, const std::string& file);

/// The states of all rules as the service that users port from describes them: a JSON array.
/// `times` are when each changed last; `ended`: no rule is in progress any more.
std::string status_json(const std::vector<RuleRecord>& records,
                        const std::vector<std::string>& times, bool ended);

/// What status_json() says of one rule, to tell whether it changed: its status and details.
std::string status_text(const RuleRecord& record, bool ended);

}  // namespace cupel::runner_detail
