#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cupel/rules/rule_runner.h"
#include "rule_report.h"
#include "runner_step.h"

namespace cupel::rules_detail {

/// A rule of a runner, with all that was configured for it. Constant while threads ask the rule,
/// but for `report`, which belongs to run()'s thread.
struct RunnerRule {
  std::unique_ptr<Rule> rule;
  RuleConfiguration configuration;
  std::int64_t start_step = 0;           ///< The configuration's or the runner's.
  std::optional<std::int64_t> end_step;  ///< Likewise; exclusive.
  bool stop_at_first = false;            ///< Likewise.
  std::vector<Action> actions = {};      ///< Its own, then the runner's.
  RuleRecord found = {};                 ///< Where an earlier runner stopped.
  std::optional<RuleReport> report = {};

  bool closed() const { return report->record().closed; }
};

/// Asks the rule about steps, in order, and returns the outcomes of the first of them: up to one
/// that ends the rule, or is NotYet, or comes when a millisecond has passed. At least one.
///
/// A step is Passed where it is outside the rule's range, or where an earlier runner has reported
/// it: then a rule that does not look back by itself is asked nevertheless, so that it remembers.
std::vector<Outcome> ask(const RunnerRule& rule, std::span<const Step* const> steps);

}  // namespace cupel::rules_detail
