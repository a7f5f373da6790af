// What rules remember when a restarted training goes back: the same as if they began there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
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
      : trial(start(first_attempt)), rule(builtin_rules().require(name).make(trial, parameters)) {
    for (std::size_t step = 0; step < first_attempt.size(); ++step)
      RuleEvaluation(*rule).at_step(static_cast<std::int64_t>(step), RunFollower(trial).snapshot());
  }
  /// Goes on from a step, and judges the last of what is saved now.
  Lines restart_at(std::int64_t step, const std::vector<double>& values) {
    auto writer = worker({.attempt = 1});
    writer.collection("losses", {"w"}).collection("weights", {"w"});
    for (const double value : values) writer.save(step++, {saved(value)});
    writer.finish();
    trial.refresh();
    return describe(RuleEvaluation(*rule).at_step(step - 1, RunFollower(trial).snapshot()));
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

TEST(RuleHistory, check_input_images_forgets_images_that_were_taken_back) {
  RestartedRun run("CheckInputImages", {{"regex", "w"}, {"threshold_samples", "3"}}, {1, 9});
  EXPECT_THAT(run.restart_at(1, {2, 3}),
              ElementsAre(HasSubstr("mean (no axis 1) 2, magnitude 2 > 0.2 over 3 images")));
}

TEST(RuleHistory, loss_not_decreasing_forgets_losses_that_were_taken_back) {
  RestartedRun run("LossNotDecreasing", {{"num_steps", "1"}}, {4, 1, 4});
  EXPECT_THAT(run.restart_at(1, {4, 4, 4.125}), IsEmpty());
}

TEST(RuleHistory, overtraining_forgets_the_lowest_loss_that_was_taken_back) {
  RestartedRun run("Overtraining", {{"patience_train", "1"}}, {4, 1});
  EXPECT_THAT(run.restart_at(1, {3}), IsEmpty());
}

TEST(RuleHistory, class_imbalance_counts_no_labels_that_were_taken_back) {
  RestartedRun run("ClassImbalance",
                   {{"labels_regex", "w"}, {"samples", "3"}, {"threshold_imbalance", "1"}}, {1, 2});
  EXPECT_THAT(run.restart_at(1, {1}), IsEmpty());
}

TEST(RuleHistory, poor_weight_initialization_forgets_steps_and_losses_that_were_taken_back) {
  RestartedRun run("PoorWeightInitialization", {{"steps", "3"}, {"patience", "1"}}, {4, 1, 1});
  EXPECT_THAT(run.restart_at(1, {3, 3}),
              ElementsAre(HasSubstr("steps since the lowest loss 1 >= 1, it was 3 and is 3")));
}

/// What Overfit says of a second step that was saved again, and is above training once more.
Lines overfit_of_a_repeated_step(Mode mode, const std::vector<SavedTensor>& first,
                                 const std::vector<SavedTensor>& second) {
  MemoryRun run;
  auto before = run.worker();
  before.collection("losses", {"."});
  before.save(0, first);
  before.save(At(1, mode, 1), second);
  before.abandon();
  Trial trial = run.open();
  const auto rule = builtin_rules().require("Overfit").make(trial, {{"patience", "2"}});
  RuleEvaluation(*rule).at_step(0, RunFollower(trial).snapshot());
  RuleEvaluation(*rule).at_step(1, RunFollower(trial).snapshot());
  auto after = run.worker({.attempt = 1});
  after.collection("losses", {"."});
  after.save(At(1, mode, 1), second);
  after.finish();
  trial.refresh();
  return describe(RuleEvaluation(*rule).at_step(1, RunFollower(trial).snapshot()));
}

TEST(RuleHistory, overfit_counts_no_validation_that_was_taken_back) {
  EXPECT_THAT(overfit_of_a_repeated_step(Mode::Eval, {scalar("loss", 1)}, {scalar("loss", 2)}),
              IsEmpty());
  EXPECT_THAT(overfit_of_a_repeated_step(Mode::Train, {scalar("train-a", 1), scalar("val-a", 1)},
                                         {scalar("train-a", 1), scalar("val-a", 2)}),
              IsEmpty());
}

}  // namespace
}  // namespace cupel::testing
