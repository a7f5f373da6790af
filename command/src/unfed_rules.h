#pragma once

#include <vector>

#include "command_context.h"
#include "cupel/rules/rule_configuration.h"
#include "cupel/rules/rule_runner.h"

namespace cupel::command_detail {

/// Reports the rules of the set ("all") that had nothing to judge, each with the first gap that
/// `check` finds, and whether no rule at all had anything to judge. `summary` has the rules in
/// their order.
void report_unfed_rules(const std::vector<RuleConfiguration>& rules, const RunSummary& summary,
                        Trial& trial, const CommandContext& context);

/// Returns whether --strict makes the exit code 1: a rule that was named had nothing to judge, or
/// no rule had anything to judge.
bool is_unfed(const std::vector<RuleConfiguration>& rules, const RunSummary& summary);

}  // namespace cupel::command_detail
