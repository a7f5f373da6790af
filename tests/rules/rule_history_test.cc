// What rules remember when a restarted training goes back: the same as if they began there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A weight, and what is remembered of it without its value.
SavedTensor saved(double value) {
  return scalar("w", value).with("mean", value).with("abs_mean", value).with("l2", value);
}

/// A training that was killed behind step 1 and went on from step 1, while a rule watched.
struct RestartedRun : MemoryRun {
  Trial trial;
  std::unique_ptr<Rule> rule;

  RestartedRun(std::string_view name, const RuleParameters& parameters,
               const std::vector<double>& first_attempt)
      : trial(start(first_attempt)), rule(make_builtin_rule(name, trial, parameters)) {
    for (std::size_t step = 0; step < first_attempt.size(); ++step)
      rule->evaluate(static_cast<std::int64_t>(step), trial.snapshot());
  }
  /// Goes on from a step, and judges the last of what is saved now.
  Lines restart_at(std::int64_t step, const std::vector<double>& values) {
    auto writer = worker({.attempt = 1});
    writer.collection("losses", {"w"}).collection("weights", {"w"});
    for (const double value : values) writer.save(step++, {saved(value)});
    writer.finish();
    trial.refresh();
    return describe(rule->evaluate(step - 1, trial.snapshot()));
  }

 private:
  Trial start(const std::vector<double>& values) {
    auto writer = worker();
    writer.collection("losses", {"w"}).collection("weights", {"w"});
    std::int64_t step = 0;
    for (const double value : values) writer.save(step++, {saved(value)});
    writer.abandon();
    return open();
  }
};

TEST(RuleHistory, unchanged_tensor_compares_with_the_steps_of_the_newest_attempt) {
  RestartedRun run("UnchangedTensor", {{"tensor_regex", "w"}, {"num_steps", "2"}}, {1, 1});
  EXPECT_THAT(run.restart_at(1, {2, 2}),
              ElementsAre(HasSubstr("unchanged in steps 1, 2, largest difference 0")));
}

TEST(RuleHistory, weight_update_ratio_compares_with_the_weights_of_the_newest_attempt) {
  RestartedRun run("WeightUpdateRatio", {{"epsilon", "1"}}, {1, 1});
  EXPECT_THAT(run.restart_at(1, {4, 104}),
              ElementsAre(HasSubstr("update ratio at least 20 > 10 since TRAIN step 1")));
}

TEST(RuleHistory, loss_not_decreasing_forgets_losses_that_were_taken_back) {
  RestartedRun run("LossNotDecreasing", {{"num_steps", "1"}}, {4, 1, 4});
  EXPECT_THAT(run.restart_at(1, {4, 4, 4.125}), IsEmpty());
}

}  // namespace
}  // namespace cupel::testing
