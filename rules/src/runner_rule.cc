#include "runner_rule.h"

#include <chrono>
#include <utility>

namespace cupel::rules_detail {
namespace {

using Clock = std::chrono::steady_clock;

// A worker hands over what it has after so long, so that lines do not wait for a whole batch.
constexpr std::chrono::milliseconds kLongestBatch{1};

// Whether an earlier runner has reported what came of the step.
bool was_reported(const RunnerRule& rule, const Step& step) {
  if (step.rewound) return rule.found.rewinds && *rule.found.rewinds >= step.rewinds;
  return step.step < rule.found.next_step;
}

bool is_outside(const RunnerRule& rule, const Step& step) {
  return step.step < rule.start_step || (rule.end_step && step.step >= *rule.end_step);
}

Outcome ask(const RunnerRule& rule, const Step& step) {
  const bool reported_before = was_reported(rule, step);
  if (step.rewound) return reported_before ? Outcome() : Outcome{.what = Rewound()};
  if (is_outside(rule, step) || (reported_before && rule.rule->looks_back_by_itself())) return {};
  Outcome outcome = outcome_at_step(*rule.rule, step);
  if (outcome.is<Fired>() && rule.stop_at_first) outcome.last = true;
  outcome.reported_before = reported_before;
  const bool holds = outcome.is<Failed>() || outcome.is<NotYet>();
  if (reported_before && !holds) return {};
  return outcome;
}

}  // namespace

std::vector<Outcome> ask(const RunnerRule& rule, std::span<const Step* const> steps) {
  const Clock::time_point begin = Clock::now();
  std::vector<Outcome> outcomes;
  for (const Step* const step : steps) {
    outcomes.push_back(ask(rule, *step));
    const Outcome& outcome = outcomes.back();
    if (outcome.is<NotYet>() || outcome.last || Clock::now() - begin >= kLongestBatch) break;
  }
  return outcomes;
}

}  // namespace cupel::rules_detail
