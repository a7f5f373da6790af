#include "unfed_rules.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "amount_text.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/rules/check_needs.h"
#include "cupel/trial/pins.h"
#include "cupel/trial/trial.h"

namespace cupel::command_detail {
namespace {

bool none_has_judged(const RunSummary& summary) {
  return std::ranges::none_of(summary.rules, [](const RuleSummary& rule) {
    return rule.has_judged || rule.status == RuleStatus::Error;
  });
}

std::string why_unfed(const RuleConfiguration& rule, const RuleSummary& summary, const Trial& run) {
  try {
    const std::vector<Gap> gaps = find_gaps(rule.definition->name, rule.needs(), run);
    if (!gaps.empty()) return gaps.front().found + "; it needs " + gaps.front().needed;
  } catch (const Error&) {
    // Damage of the run is reported by the watch itself.
  }
  return summary.message.empty() ? "no step was there to judge" : summary.message;
}

}  // namespace

void report_unfed_rules(const std::vector<RuleConfiguration>& rules, const RunSummary& summary,
                        Trial& trial, const CommandContext& context) {
  const NoRefresh one_snapshot(trial);
  std::string text;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const RuleSummary& of = summary.rules[i];
    if (!rules[i].only_if_fed || of.has_judged || of.status == RuleStatus::Error) continue;
    ++count;
    text +=
        "  " + printable(rules[i].name) + ": " + printable(why_unfed(rules[i], of, trial)) + "\n";
  }
  if (count > 0)
    context.message() << count_text(count, "rule") << " had nothing to judge:\n" << Composed{text};
  if (none_has_judged(summary)) context.message() << "no rule had anything to judge\n";
}

bool is_unfed(const std::vector<RuleConfiguration>& rules, const RunSummary& summary) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (!rules[i].only_if_fed && summary.rules[i].status == RuleStatus::NothingSeen) return true;
  return none_has_judged(summary);
}

}  // namespace cupel::command_detail
