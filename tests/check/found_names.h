#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/check_needs.h"
#include "cupel/rules/preferred_selection.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "cupel/trial/trial.h"

namespace cupel::testing {

/// What a rule finds in a run by its defaults; for runs of adapters too.
///
///     EXPECT_THAT(found_names("DeadRelu", trial), ElementsAre("relu_output_0"));
///     EXPECT_THAT(gaps_of("DeadRelu", trial), IsEmpty());
///     EXPECT_TRUE(judges("DeadRelu", trial));

/// The tensors of the rule's first need that count at the last step of the run, by name.
inline std::vector<std::string> found_names(std::string_view rule, const Trial& run,
                                            Definitions edition = Definitions::Practical) {
  const RuleNeeds needs = builtin_rules().require(rule, edition).needs();
  PreferredSelection names(needs.tensors.front().tensors);
  const std::int64_t last = run.steps().back();
  names.choose(last, run);
  std::vector<std::string> found;
  run.visit_step(last, names.names(), [&](const RecordView& record) {
    if (names.counts(record)) found.push_back(record.tensor());
  });
  return found;
}

/// What `cupel check` reports of the rule.
inline std::vector<std::string> gaps_of(std::string_view rule, const Trial& run,
                                        Definitions edition = Definitions::Practical) {
  const RuleDefinition& definition = builtin_rules().require(rule, edition);
  std::vector<std::string> gaps;
  for (const Gap& gap : find_gaps(definition.name, definition.needs(), run))
    gaps.push_back(std::string(to_string(gap.kind)) + ": " + gap.found);
  return gaps;
}

/// Whether the rule judges anything in the run, whatever it finds.
inline bool judges(std::string_view rule, Trial& run, const RuleParameters& parameters = {},
                   Definitions edition = Definitions::Practical) {
  const auto made = builtin_rules().require(rule, edition).make(run, parameters);
  bool judged = false;
  for (const std::int64_t step : run.steps())
    judged |= RuleEvaluation(*made).at_step(step, RunFollower(run).snapshot()).datapoints() > 0;
  return judged;
}

}  // namespace cupel::testing
