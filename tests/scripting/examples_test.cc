// The rules of examples/rules, on runs that they fire on and runs that they do not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/rules/check_needs.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/rules/rule_runner.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/trial/run_follower.h"
#include "scripting/lua_rule_of.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

std::shared_ptr<const RuleDefinition> example(const std::string& name) {
  return lua_rule(std::string(CUPEL_EXAMPLE_RULES) + "/" + name + ".lua");
}

// The lines of a rule over a run, as `cupel watch` prints it, and its status at the end.
Lines verdict_of(const std::string& name, const MemoryRun& run,
                 const RuleParameters& parameters = {}, const MemoryRun* reference = nullptr) {
  Trial trial = run.open();
  std::vector<std::unique_ptr<Trial>> others;
  if (reference != nullptr)
    others.push_back(std::make_unique<Trial>(reference->store, TrialOptions{.name = "reference"}));
  RuleRunner runner(trial, {.wait = false});
  runner.add(example(name)->make(trial, parameters, std::move(others)));
  Lines lines;
  runner.run([&](const VerdictLine& line) {
    lines.push_back(line.final_line ? std::string(to_string(line.status)) + ", skipped " +
                                          std::to_string(line.steps_skipped)
                                    : to_text(line));
    EXPECT_NE(line.status, RuleStatus::Error) << line.message;
  });
  return lines;
}

// What `cupel check` finds missing in a run.
Lines gaps_of(const std::string& name, const MemoryRun& run,
              const RuleParameters& parameters = {}) {
  const auto rule = example(name);
  Lines gaps;
  for (const Gap& gap : find_gaps(rule->name, rule->needs(parameters), run.open()))
    gaps.push_back(gap.found);
  return gaps;
}

// ---- gradient_too_large ----

struct GradientRun : MemoryRun {
  WorkerWriter writer = worker();
  GradientRun() {
    writer.collection("gradients", {"^gradient/"}).collection("weights", {"weight$"});
  }
  void save_mean(std::int64_t step, double mean) {
    writer.save(step, {reduced("gradient/fc1.weight", "abs_mean", mean)});
  }
};

TEST(ExampleGradientTooLarge, fires_above_its_threshold) {
  GradientRun run;
  run.save_mean(0, 9);
  run.save_mean(1, 10);
  run.save_mean(2, 11);
  EXPECT_THAT(verdict_of("gradient_too_large", run),
              ElementsAre("step 2 TRAIN  GradientTooLarge  gradient/fc1.weight  abs_mean 11 > 10",
                          "IssuesFound, skipped 0"));
}

TEST(ExampleGradientTooLarge, takes_its_threshold_as_a_parameter) {
  GradientRun run;
  run.save_mean(0, 9);
  EXPECT_THAT(verdict_of("gradient_too_large", run, {{"threshold", "8.5"}}),
              ElementsAre("step 0 TRAIN  GradientTooLarge  gradient/fc1.weight  abs_mean 9 > 8.5",
                          "IssuesFound, skipped 0"));
  EXPECT_THROW(verdict_of("gradient_too_large", run, {{"threshold", "-1"}}), UsageError);
}

TEST(ExampleGradientTooLarge, is_fed_by_abs_mean_and_not_by_another_reduction) {
  GradientRun fed;
  fed.save_mean(0, 9);
  EXPECT_THAT(gaps_of("gradient_too_large", fed), IsEmpty());
  GradientRun unfed;
  unfed.writer.save(0, {reduced("gradient/fc1.weight", "max", 9)});
  EXPECT_THAT(gaps_of("gradient_too_large", unfed),
              ElementsAre("of gradient/fc1.weight only max is saved"));
}

// ---- starving_layer ----

TEST(ExampleStarvingLayer, fires_on_each_layer_below_a_share_of_the_largest_gradient) {
  GradientRun run;
  run.writer.save(0, {reduced("gradient/fc1.weight", "abs_mean", 0.5),
                      reduced("gradient/fc2.weight", "abs_mean", 2),
                      reduced("gradient/fc3.weight", "abs_mean", 8)});
  EXPECT_THAT(
      verdict_of("starving_layer", run, {{"share", "0.5"}}),
      ElementsAre("step 0 TRAIN  StarvingLayer  gradient/fc1.weight  value 0.5, threshold 4\n"
                  "step 0 TRAIN  StarvingLayer  gradient/fc2.weight  value 2, threshold 4",
                  "IssuesFound, skipped 0"));
  EXPECT_THAT(verdict_of("starving_layer", run), ElementsAre("NoIssuesFound, skipped 0"));
}

TEST(ExampleStarvingLayer, a_gradient_that_is_nan_does_not_hide_the_others) {
  GradientRun run;
  run.writer.save(0, {reduced("gradient/fc1.weight", "abs_mean", 1e-6),
                      reduced("gradient/fc2.weight", "abs_mean", std::nan("")),
                      reduced("gradient/fc3.weight", "abs_mean", 1)});
  EXPECT_THAT(
      verdict_of("starving_layer", run),
      ElementsAre("step 0 TRAIN  StarvingLayer  gradient/fc1.weight  value 1e-06, threshold 0.0001",
                  "IssuesFound, skipped 0"));
}

// ---- loss_plateau ----

struct LossesRun : MemoryRun {
  WorkerWriter writer = worker();
  explicit LossesRun(const std::vector<double>& losses = {}) {
    writer.collection("losses", {"loss$"});
    for (std::size_t i = 0; i < losses.size(); ++i)
      writer.save(static_cast<std::int64_t>(i), {scalar("loss", losses[i])});
  }
};

TEST(ExampleLossPlateau, fires_when_no_loss_was_better_for_as_long_as_its_patience) {
  EXPECT_THAT(verdict_of("loss_plateau", LossesRun({3, 2, 2.5, 2, 1.5, 1.5}), {{"patience", "2"}}),
              ElementsAre("step 3 TRAIN  LossPlateau  loss  2: for 2 saved steps no better than 2",
                          "IssuesFound, skipped 0"));
}

TEST(ExampleLossPlateau, a_loss_that_falls_slowly_is_better_unless_it_is_to_fall_by_more) {
  const LossesRun run({3, 2.5, 2.25, 2});
  EXPECT_THAT(verdict_of("loss_plateau", run, {{"patience", "2"}}),
              ElementsAre("NoIssuesFound, skipped 0"));
  EXPECT_THAT(
      verdict_of("loss_plateau", run, {{"patience", "2"}, {"min_delta", "0.9"}}),
      ElementsAre("step 2 TRAIN  LossPlateau  loss  2.25: for 2 saved steps no better than 3",
                  "IssuesFound, skipped 0"));
}

TEST(ExampleLossPlateau, a_loss_that_is_nan_is_no_improvement) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(
      verdict_of("loss_plateau", LossesRun({2, kNan, kNan}), {{"patience", "2"}}),
      ElementsAre("step 2 TRAIN  LossPlateau  loss  NaN: for 2 saved steps no better than 2",
                  "IssuesFound, skipped 0"));
}

TEST(ExampleLossPlateau, losses_of_training_and_of_validation_are_looked_at_apart) {
  LossesRun run;
  for (std::int64_t i = 0; i < 3; ++i) {
    run.writer.save({2 * i, Mode::Train, i}, {scalar("loss", 1)});
    run.writer.save({2 * i + 1, Mode::Eval, i}, {scalar("loss", 3 - static_cast<double>(i))});
  }
  EXPECT_THAT(verdict_of("loss_plateau", run, {{"patience", "2"}}),
              ElementsAre("step 4 TRAIN  LossPlateau  loss  1: for 2 saved steps no better than 1",
                          "IssuesFound, skipped 0"));
}

TEST(ExampleLossPlateau, a_run_with_fewer_steps_than_its_patience_does_not_feed_it) {
  LossesRun run({3, 2, 1});
  run.writer.finish();
  EXPECT_THAT(gaps_of("loss_plateau", run, {{"patience", "2"}}), IsEmpty());
  EXPECT_THAT(gaps_of("loss_plateau", run, {{"patience", "3"}}), ::testing::SizeIs(1));
}

// ---- ratio_of_norms ----

TEST(ExampleRatioOfNorms, fires_outside_its_bounds) {
  GradientRun run;
  run.writer.save(0, {reduced("fc1.weight", "l2", 2), reduced("gradient/fc1.weight", "l2", 20)});
  run.writer.save(1, {reduced("fc1.weight", "l2", 2), reduced("gradient/fc1.weight", "l2", 30)});
  run.writer.save(2, {reduced("fc1.weight", "l2", 2), reduced("gradient/fc1.weight", "l2", 1e-7)});
  const std::string rule = "TRAIN  RatioOfNorms  gradient/fc1.weight  |gradient| / |weight| ";
  EXPECT_THAT(verdict_of("ratio_of_norms", run),
              ElementsAre("step 1 " + rule + "15 > 10", "step 2 " + rule + "5e-08 < 1e-07",
                          "IssuesFound, skipped 0"));
}

TEST(ExampleRatioOfNorms, pairs_gradients_with_weights_by_any_of_the_usual_names) {
  MemoryRun run;
  auto writer = run.worker();
  writer.collection("gradients", {"^gradient", "[./_]grad$"}).collection("weights", {"weight$"});
  writer.save(0, {reduced("a.weight", "l2", 1), reduced("a.weight.grad", "l2", 11),
                  reduced("b.weight", "l2", 1), reduced("b.weight_grad", "l2", 12),
                  reduced("c.weight", "l2", 1), reduced("gradients/c.weight", "l2", 13)});
  const std::string rule = "step 0 TRAIN  RatioOfNorms  ";
  EXPECT_THAT(verdict_of("ratio_of_norms", run),
              ElementsAre(rule + "a.weight.grad  |gradient| / |weight| 11 > 10\n" + rule +
                              "b.weight_grad  |gradient| / |weight| 12 > 10\n" + rule +
                              "gradients/c.weight  |gradient| / |weight| 13 > 10",
                          "IssuesFound, skipped 0"));
}

TEST(ExampleRatioOfNorms, a_gradient_without_its_weight_is_skipped) {
  GradientRun run;
  run.writer.save(0, {reduced("fc2.weight", "l2", 1), reduced("gradient/fc1.weight", "l2", 20)});
  run.writer.save(1, {reduced("fc1.weight", "l2", 0), reduced("gradient/fc1.weight", "l2", 20)});
  EXPECT_THAT(verdict_of("ratio_of_norms", run), ElementsAre("NoIssuesFound, skipped 2"));
}

TEST(ExampleRatioOfNorms, needs_both_collections) {
  GradientRun run;
  run.writer.save(0, {reduced("gradient/fc1.bias", "l2", 1)});
  EXPECT_THAT(gaps_of("ratio_of_norms", run),
              ElementsAre("the run has no tensor of the collection weights"));
  run.writer.save(1, {reduced("fc1.weight", "l2", 1)});
  EXPECT_THAT(gaps_of("ratio_of_norms", run), IsEmpty());
}

// ---- against_reference ----

TEST(ExampleAgainstReference, fires_where_the_loss_is_worse_by_more_than_the_tolerance) {
  LossesRun reference({1, 0.5, 0.25});
  reference.writer.finish();
  EXPECT_THAT(verdict_of("against_reference", LossesRun({1.1875, 0.5, 0.5}), {}, &reference),
              ElementsAre("step 2 TRAIN  AgainstReference  loss  0.5 > 0.3: reference has 0.25",
                          "IssuesFound, skipped 0"));
}

TEST(ExampleAgainstReference, explains_both_runs) {
  LossesRun reference({1, 0.25});
  reference.writer.finish();
  const LossesRun run({1, 0.5});
  std::vector<std::unique_ptr<Trial>> others;
  others.push_back(std::make_unique<Trial>(reference.store, TrialOptions{.name = "reference"}));
  Trial trial = run.open();
  const auto rule = example("against_reference")->make(trial, {}, std::move(others));
  RuleEvaluation(*rule).set_explaining(true);
  const auto explained = [&](std::int64_t step) {
    trial.refresh();
    const Verdict verdict = RuleEvaluation(*rule).at_step(step, RunFollower(trial).snapshot());
    Lines lines;
    for (const Observation& seen : verdict.observations())
      lines.push_back(seen.read + ": " + seen.compared + (seen.fired ? ", fired" : ""));
    return lines;
  };
  EXPECT_THAT(explained(0), ElementsAre("mean (from raw): 1", "mean (from raw) of reference: 1"));
  EXPECT_THAT(explained(1), ElementsAre("mean (from raw): 0.5 > 0.3: reference has 0.25, fired",
                                        "mean (from raw) of reference: 0.25"));
}

TEST(ExampleAgainstReference, a_step_that_the_reference_does_not_have_is_passed_over) {
  LossesRun reference({1});
  reference.writer.finish();
  EXPECT_THAT(verdict_of("against_reference", LossesRun({1, 9}), {}, &reference),
              ElementsAre("NoIssuesFound, skipped 1"));
}

TEST(ExampleAgainstReference, waits_for_a_reference_that_is_still_trained) {
  const LossesRun reference({1});
  const LossesRun run({1, 9});
  Trial trial = run.open();
  std::vector<std::unique_ptr<Trial>> others;
  others.push_back(std::make_unique<Trial>(reference.store, TrialOptions{.name = "reference"}));
  const auto rule = example("against_reference")->make(trial, {}, std::move(others));
  EXPECT_EQ(RuleEvaluation(*rule).at_step(1, RunFollower(trial).snapshot()).why_to_ask_again(),
            "step 1 of reference");
}

TEST(ExampleAgainstReference, is_not_made_without_another_run) {
  EXPECT_THROW(verdict_of("against_reference", LossesRun({1})),
               InsufficientInformationForRuleInvocation);
}

TEST(ExampleAgainstReference, needs_losses) {
  EXPECT_THAT(gaps_of("against_reference", LossesRun({1})), IsEmpty());
  GradientRun run;
  run.save_mean(0, 1);
  EXPECT_THAT(gaps_of("against_reference", run),
              ElementsAre("the run has no tensor of the collection losses"));
}

// ---- activation_outliers ----

// -1 and 1 by turns, with one that is far away.
std::vector<float> with_an_outlier(std::size_t count, float outlier) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = i % 2 == 0 ? -1.0F : 1.0F;
  values[count / 2] = outlier;
  return values;
}

MemoryRun output_run(SavedTensor tensor) {
  MemoryRun run;
  run.worker().save(0, {std::move(tensor)});
  return run;
}

TEST(ExampleActivationOutliers, fires_where_too_many_are_far_from_the_others) {
  const MemoryRun run = output_run(raw_of("fc1_output_0", with_an_outlier(1000, 100)));
  EXPECT_THAT(
      verdict_of("activation_outliers", run, {{"share", "0.0005"}}),
      ElementsAre("step 0 TRAIN  ActivationOutliers  fc1_output_0  outliers 0.001 > 0.0005: "
                  "the largest is 100, 99 % are up to 1",
                  "IssuesFound, skipped 0"));
  EXPECT_THAT(verdict_of("activation_outliers", run), ElementsAre("NoIssuesFound, skipped 0"));
}

TEST(ExampleActivationOutliers, what_is_within_the_deviations_is_no_outlier) {
  const MemoryRun run = output_run(raw_of("fc1_output_0", with_an_outlier(1000, 5)));
  EXPECT_THAT(verdict_of("activation_outliers", run, {{"share", "0"}}),
              ElementsAre("NoIssuesFound, skipped 0"));
  EXPECT_THAT(verdict_of("activation_outliers", run, {{"share", "0"}, {"deviations", "4"}}),
              ::testing::SizeIs(2));
}

TEST(ExampleActivationOutliers, nan_and_infinities_do_not_hide_outliers) {
  std::vector<float> values = with_an_outlier(1000, 100);
  values[0] = std::numeric_limits<float>::quiet_NaN();
  values[2] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(verdict_of("activation_outliers", output_run(raw_of("output", values)),
                         {{"share", "0.0005"}}),
              ::testing::Contains(::testing::HasSubstr("the largest is 100, 99 % are up to 1")));
}

TEST(ExampleActivationOutliers, equal_activations_have_no_outliers) {
  const MemoryRun run = output_run(filled("output", 1000, 0.1F));
  EXPECT_THAT(verdict_of("activation_outliers", run, {{"share", "0"}}),
              ElementsAre("NoIssuesFound, skipped 0"));
}

TEST(ExampleActivationOutliers, what_has_no_raw_numbers_is_skipped) {
  EXPECT_THAT(verdict_of("activation_outliers", output_run(reduced("output", "max", 9))),
              ElementsAre("NothingSeen, skipped 1"));
  EXPECT_THAT(verdict_of("activation_outliers", output_run(texts("output", {"cat", "dog"}))),
              ElementsAre("NothingSeen, skipped 1"));
}

TEST(ExampleActivationOutliers, takes_several_patterns_and_needs_raw_values_of_each) {
  MemoryRun run = output_run(raw("relu_1", {1, 2}));
  EXPECT_THAT(gaps_of("activation_outliers", run, {{"tensor_regex", "relu"}}), IsEmpty());
  EXPECT_THAT(gaps_of("activation_outliers", run, {{"tensor_regex", "relu,gelu"}}),
              ElementsAre("the run has no tensor of names matching \"gelu\""));
  EXPECT_THAT(gaps_of("activation_outliers", output_run(reduced("output", "max", 9))),
              ElementsAre("of output only max is saved"));
}

}  // namespace
}  // namespace cupel::testing
