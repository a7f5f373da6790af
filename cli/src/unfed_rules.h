#pragma once

#include <vector>

#include "chosen_rules.h"
#include "cupel/core/printer.h"
#include "cupel/rules/rule_runner.h"

namespace cupel {

/// Names on `err` the rules of the set that had nothing to judge, with the first gap that `cupel
/// check` finds for each; and reports where no rule at all had anything. `summary` has the rules in
/// their order.
void report_unfed_rules(const std::vector<ChosenRule>& rules, const RunSummary& summary,
                        Trial& trial, Printer err);

/// Whether --strict makes of the summary an exit code of 1: a rule that was named had nothing to
/// judge, or no rule had.
bool is_unfed(const std::vector<ChosenRule>& rules, const RunSummary& summary);

}  // namespace cupel
