#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/number_text.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {

using Lines = std::vector<std::string>;

/// What a verdict says, a line each: "fires w worker_0 3 > 0: nan 3, +inf 0, -inf 0",
/// "skips w worker_0: …", "not applicable: …".
inline Lines describe(const Verdict& verdict) {
  Lines lines;
  for (const Finding& finding : verdict.findings())
    lines.push_back("fires " + finding.tensor + " " + finding.worker + " " +
                    shortest_text(finding.value) + " vs " + shortest_text(finding.threshold) +
                    ": " + finding.message);
  for (const Skip& skip : verdict.skips())
    lines.push_back("skips " + skip.tensor + " " + skip.worker + ": " + skip.reason);
  if (!verdict.applicable()) lines.push_back("not applicable: " + verdict.why_not_applicable());
  return lines;
}

/// A rule whose judgement a test writes on the spot.
class WrittenRule : public Rule {
 public:
  using Judge = std::function<Verdict(Trial& trial, std::int64_t step)>;
  WrittenRule(Trial& base, Judge judge, std::string name = "WrittenRule")
      : Rule(base), judge_(std::move(judge)), name_(std::move(name)) {}
  std::string rule_name() const override { return name_; }
  Verdict invoke_at_step(std::int64_t step) override { return judge_(base_trial(), step); }

 private:
  Judge judge_;
  std::string name_;
};

/// A verdict with one finding.
inline Verdict fired(std::string tensor = "loss", double value = 1) {
  Verdict verdict;
  verdict.add({.tensor = std::move(tensor), .value = value});
  return verdict;
}

/// Judges one step of a run by a built-in rule.
inline Verdict judge_step(const MemoryRun& run, std::string_view rule,
                          const RuleParameters& parameters = {}, std::int64_t step = 0,
                          bool explain = false) {
  Trial trial = run.open();
  const auto made = builtin_rules().require(rule).make(trial, parameters);
  RuleEvaluation(*made).set_explaining(explain);
  return RuleEvaluation(*made).at_step(step, RunFollower(trial).snapshot());
}

/// What was read of each tensor, and whence: "g worker_0: abs_mean (saved)".
inline Lines readings(const Verdict& verdict) {
  Lines lines;
  for (const Observation& seen : verdict.observations())
    lines.push_back(seen.tensor + " " + seen.worker + ": " + seen.read);
  return lines;
}

}  // namespace cupel::testing
