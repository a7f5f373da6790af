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

namespace cupel {
namespace {

bool none_has_judged(const RunSummary& summary) {
  return std::ranges::none_of(summary.rules, [](const RuleSummary& rule) {
    return rule.has_judged || rule.status == RuleStatus::Error;
  });
}

std::string why_unfed(const ChosenRule& rule, const RuleSummary& summary, const Trial& run) {
  try {
    const std::vector<Gap> gaps = find_gaps(rule.rule, rule.needs, run);
    if (!gaps.empty()) return gaps.front().found + "; it needs " + gaps.front().needed;
  } catch (const Error&) {
    // The run is damaged, which the watch itself reports.
  }
  return summary.message.empty() ? "no step was there to judge" : summary.message;
}

}  // namespace

void report_unfed_rules(const std::vector<ChosenRule>& rules, const RunSummary& summary,
                        Trial& trial, Printer err) {
  const NoRefresh one_snapshot(trial);
  std::string text;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const RuleSummary& of = summary.rules[i];
    if (!rules[i].is_of_set || of.has_judged || of.status == RuleStatus::Error) continue;
    ++count;
    text +=
        "  " + printable(rules[i].name) + ": " + printable(why_unfed(rules[i], of, trial)) + "\n";
  }
  if (count > 0)
    err << "cupel watch: " << count_text(count, "rule") << " had nothing to judge:\n"
        << Composed{text};
  if (none_has_judged(summary)) err << "cupel watch: no rule had anything to judge\n";
}

bool is_unfed(const std::vector<ChosenRule>& rules, const RunSummary& summary) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (!rules[i].is_of_set && summary.rules[i].status == RuleStatus::NothingSeen) return true;
  return none_has_judged(summary);
}

}  // namespace cupel
