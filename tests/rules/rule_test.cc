#include "cupel/rules/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "cupel/core/error.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/rules/rule_spec.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/run_follower.h"
#include "rules/rule_fixture.h"
#include "store/scratch_directory.h"

namespace cupel::testing {

struct TooLarge : Rule {
  using Rule::Rule;
  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    for (const auto& name : base_trial().tensor_names({.step = step, .collection = "gradients"}))
      if (double x = base_trial().tensor(name).reduction_value(step, "mean", {.abs = true}); x > 10)
        verdict.add({.tensor = name, .value = x, .threshold = 10});
    return verdict;
  }
};

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <class T>
struct Generic : TooLarge {
  using TooLarge::TooLarge;
};

struct OneLossRun : MemoryRun {
  WorkerWriter writer = worker();
  explicit OneLossRun(std::initializer_list<std::int64_t> steps) { writer.save_steps(steps); }
};

/// Which steps a rule is invoked at by invoke_rule(), which may throw.
Steps invoked_steps(Trial& trial, const InvokeOptions& options) {
  Steps steps;
  WrittenRule rule(trial, [&](Trial&, std::int64_t step) {
    steps.push_back(step);
    return Verdict();
  });
  invoke_rule(rule, options);
  return steps;
}

TEST(Rule, is_named_after_its_class) {
  OneLossRun run({0});
  Trial trial = run.open();
  EXPECT_EQ(TooLarge(trial).rule_name(), "TooLarge");
  struct Local : TooLarge {
    using TooLarge::TooLarge;
  };
  EXPECT_EQ(Local(trial).rule_name(), "Local");
  EXPECT_EQ(Generic<std::string>(trial).rule_name().substr(0, 8), "Generic<");
}

TEST(Rule, the_rule_of_the_manual_finds_a_large_gradient) {
  MemoryRun run;
  auto writer = run.worker();
  writer.collection("gradients", {"^g"});
  writer.save(0, {raw("g1", {30, -30}), raw("g2", {1})});
  Trial trial = run.open();
  TooLarge rule(trial);
  EXPECT_THAT(describe(RuleEvaluation(rule).at_step(0, RunFollower(trial).snapshot())),
              ElementsAre("fires g1 worker_0 30 vs 10: value 30, threshold 10"));
}

TEST(Rule, sees_nothing_behind_the_step_it_judges) {
  OneLossRun run({0, 1, 2});
  Trial trial = run.open();
  Steps seen;
  std::int64_t last_complete = -2;
  WrittenRule rule(trial, [&](Trial& view, std::int64_t) {
    seen = view.steps();
    last_complete = view.last_complete_step();
    EXPECT_THROW(view.tensor("loss").value(2), StepNotYetAvailable);
    return Verdict();
  });
  RuleEvaluation(rule).at_step(1, RunFollower(trial).snapshot());
  EXPECT_THAT(seen, ElementsAre(0, 1));
  EXPECT_EQ(last_complete, 1);
}

TEST(Rule, its_view_is_free_again_after_an_exception) {
  OneLossRun run({0, 1, 2});
  Trial trial = run.open();
  WrittenRule rule(trial, [](Trial&, std::int64_t) -> Verdict { throw std::runtime_error("no"); });
  EXPECT_THROW(RuleEvaluation(rule).at_step(0, RunFollower(trial).snapshot()), std::runtime_error);
  EXPECT_THAT(rule.base_trial().steps(), ElementsAre(0, 1, 2));
}

TEST(Rule, other_trials_are_pinned_while_it_judges) {
  OneLossRun run({0});
  OneLossRun other({0});
  Trial trial = run.open();
  Trial other_trial = other.open();
  struct Comparing : Rule {
    using Rule::Rule;
    std::function<void()> grow;
    Steps before, after;
    Verdict invoke_at_step(std::int64_t) override {
      before = other_trials()[0]->steps();
      grow();
      after = other_trials()[0]->steps();
      return {};
    }
  };
  Comparing rule(trial, {&other_trial});
  rule.grow = [&] { other.writer.save_steps({1}); };
  RuleEvaluation(rule).at_step(0, RunFollower(trial).snapshot());
  EXPECT_THAT(rule.before, ElementsAre(0));
  EXPECT_THAT(rule.after, ElementsAre(0));
  EXPECT_THAT(rule.other_trials()[0]->steps(), ElementsAre(0, 1));
}

TEST(Rule, findings_come_back_sorted_and_filled_in) {
  MemoryRun run;
  auto first = run.worker({"worker_2", 2});
  auto second = run.worker({"worker_10", 2});
  first.save(0, {scalar("a", 1), scalar("b", 1)});
  second.save(0, {scalar("a", 1), scalar("b", 1)});
  Trial trial = run.open();
  WrittenRule rule(trial, [](Trial&, std::int64_t) {
    Verdict verdict;
    verdict.add({.tensor = "b", .worker = "worker_10", .value = 1});
    verdict.add({.tensor = "b", .worker = "worker_2", .value = 2});
    verdict.add({.tensor = "a", .value = 3, .threshold = 0.5});
    verdict.add({.tensor = "none", .value = 4, .message = "of no tensor"});
    return verdict;
  });
  EXPECT_THAT(describe(RuleEvaluation(rule).at_step(0, RunFollower(trial).snapshot())),
              ElementsAre("fires a worker_2 3 vs 0.5: value 3, threshold 0.5",
                          "fires b worker_2 2 vs 0: value 2, threshold 0",
                          "fires b worker_10 1 vs 0: value 1, threshold 0",
                          "fires none  4 vs 0: of no tensor"));
}

TEST(Rule, findings_list_workers_in_the_order_of_the_trial) {
  MemoryRun run;
  auto second = run.worker({"node10_rank0", 2});
  auto first = run.worker({"node2_rank1", 2});
  second.save(0, {scalar("a", 1)});
  first.save(0, {scalar("a", 1)});
  Trial trial = run.open();
  WrittenRule rule(trial, [](Trial& base, std::int64_t) {
    Verdict verdict;
    const std::vector<std::string> workers = base.workers();
    for (auto worker = workers.rbegin(); worker != workers.rend(); ++worker)
      verdict.add({.tensor = "a", .worker = *worker, .value = 1});
    return verdict;
  });
  EXPECT_THAT(trial.workers(), ElementsAre("node2_rank1", "node10_rank0"));
  EXPECT_THAT(describe(RuleEvaluation(rule).at_step(0, RunFollower(trial).snapshot())),
              ElementsAre("fires a node2_rank1 1 vs 0: value 1, threshold 0",
                          "fires a node10_rank0 1 vs 0: value 1, threshold 0"));
}

TEST(Rule, invoke_throws_when_the_condition_is_met) {
  OneLossRun run({0});
  Trial trial = run.open();
  WrittenRule rule(
      trial, [](Trial&, std::int64_t) { return fired(); }, "Fires");
  try {
    rule.invoke(0);
    FAIL() << "nothing was thrown";
  } catch (const RuleEvaluationConditionMet& met) {
    EXPECT_EQ(met.rule, "Fires");
    EXPECT_EQ(met.step, 0);
    EXPECT_FALSE(met.end_of_rule);
  }
}

TEST(Rule, invoke_returns_a_verdict_that_did_not_fire) {
  OneLossRun run({0});
  Trial trial = run.open();
  WrittenRule rule(trial, [](Trial&, std::int64_t) {
    Verdict verdict;
    verdict.count(7);
    return verdict;
  });
  EXPECT_EQ(rule.invoke(0).datapoints(), 7);
}

TEST(Rule, invoke_tells_of_steps_that_will_not_come) {
  OneLossRun run({0, 10});
  run.writer.finish();
  Trial trial = run.open();
  WrittenRule rule(trial, [](Trial&, std::int64_t) { return Verdict(); });
  EXPECT_THROW(rule.invoke(5), StepUnavailable);
  EXPECT_THROW(rule.invoke(11), NoMoreData);
}

TEST(InvokeRule, ends_before_the_end_step) {
  OneLossRun run({0, 5, 8, 9, 10, 11});
  Trial trial = run.open();
  EXPECT_THAT(invoked_steps(trial, {.end_step = 10}), ElementsAre(0, 5, 8, 9));
}

TEST(InvokeRule, begins_at_the_start_step) {
  OneLossRun run({0, 5, 8, 9});
  Trial trial = run.open();
  EXPECT_THAT(invoked_steps(trial, {.start_step = 6, .end_step = 9}), ElementsAre(8));
  EXPECT_THAT(invoked_steps(trial, {.start_step = 9, .end_step = 9}), IsEmpty());
}

TEST(InvokeRule, lets_the_end_of_the_data_out) {
  OneLossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  EXPECT_THROW(invoked_steps(trial, {}), NoMoreData);
}

TEST(InvokeRule, goes_on_after_a_firing_unless_told_otherwise) {
  OneLossRun run({0, 1, 2});
  Trial trial = run.open();
  Steps steps;
  WrittenRule rule(trial, [&](Trial&, std::int64_t step) {
    steps.push_back(step);
    return fired();
  });
  invoke_rule(rule, {.end_step = 3});
  EXPECT_THAT(steps, ElementsAre(0, 1, 2));
  EXPECT_THROW(invoke_rule(rule, {.end_step = 3, .raise_eval_cond = true}),
               RuleEvaluationConditionMet);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 0));
}

TEST(InvokeRule, ends_when_the_rule_says_that_it_has_ended) {
  OneLossRun run({0, 1, 2});
  Trial trial = run.open();
  Steps steps;
  WrittenRule rule(trial, [&](Trial&, std::int64_t step) -> Verdict {
    steps.push_back(step);
    throw RuleEvaluationConditionMet("Rule", step, step == 1);
  });
  invoke_rule(rule, {.end_step = 3});
  EXPECT_THAT(steps, ElementsAre(0, 1));
}

TEST(InvokeRule, passes_over_steps_at_which_tensors_are_missing) {
  OneLossRun run({0, 1, 2});
  Trial trial = run.open();
  Steps steps;
  WrittenRule rule(trial, [&](Trial& view, std::int64_t step) {
    steps.push_back(step);
    if (step == 0) view.tensor("never saved");
    if (step == 1) view.tensor("loss").value(1, Mode::Global, {}).at(0);
    if (step == 1) throw TensorUnavailableForStep("loss", 1, Mode::Train, false);
    return Verdict();
  });
  invoke_rule(rule, {.end_step = 3});
  EXPECT_THAT(steps, ElementsAre(0, 1, 2));
}

TEST(InvokeRule, lets_other_errors_out) {
  OneLossRun run({0});
  Trial trial = run.open();
  WrittenRule rule(trial, [](Trial&, std::int64_t) -> Verdict { throw InvalidWorker("w"); });
  EXPECT_THROW(invoke_rule(rule, {.end_step = 1}), InvalidWorker);
}

TEST(BuiltinRules, are_found_by_either_form_of_their_name) {
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical))
    EXPECT_EQ(builtin_rules().find(rule->name), rule);
  EXPECT_EQ(builtin_rules().find("vanishing_gradient"), builtin_rules().find("VanishingGradient"));
  EXPECT_NE(builtin_rules().find("exploding_tensor"), nullptr);
  EXPECT_NE(builtin_rules().find("nlp_sequence_ratio"), nullptr);
  EXPECT_EQ(builtin_rules().find("vanishinggradient"), nullptr);
}

/// The parameters of the rule's example, which has everything that the rule requires.
RuleParameters required_parameters(const RuleDefinition& rule, const std::string& other_run) {
  RuleParameters parameters = parse_rule_spec(rule.example).parameters;
  if (parameters.contains("other_trials")) parameters["other_trials"] = other_run;
  return parameters;
}

TEST(BuiltinRules, are_listed_by_name_and_make_rules_of_that_name) {
  OneLossRun run({0});
  Trial trial = run.open();
  const ScratchDirectory scratch;
  LocalStore other_store((scratch / "other").string());
  WorkerWriter other(other_store);
  std::string_view before;
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical)) {
    EXPECT_LT(before, rule->name);
    before = rule->name;
    const RuleParameters parameters = required_parameters(*rule, other_store.location());
    EXPECT_EQ(rule->make(trial, parameters)->rule_name(), rule->name);
  }
}

TEST(BuiltinRules, that_lack_something_to_look_at_say_so_by_a_name_of_its_own) {
  OneLossRun run({0});
  Trial trial = run.open();
  for (const char* rule : {"AllZero", "TensorVariance", "UnchangedTensor"}) {
    const RuleParameters parameters = rule == std::string("TensorVariance")
                                          ? RuleParameters{{"max_threshold", "1"}}
                                          : RuleParameters{};
    EXPECT_THROW(builtin_rules().require(rule).make(trial, parameters),
                 InsufficientInformationForRuleInvocation)
        << rule;
  }
  EXPECT_THROW(builtin_rules()
                   .require("LossNotDecreasing")
                   .make(trial, {{"use_losses_collection", "False"}}),
               InsufficientInformationForRuleInvocation);
}

TEST(BuiltinRules, an_unknown_name_is_answered_with_the_nearest) {
  OneLossRun run({0});
  Trial trial = run.open();
  const auto message = [&](std::string_view name) -> std::string {
    try {
      builtin_rules().require(name).make(trial);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "made";
  };
  EXPECT_EQ(message("VanishingGradients"),
            "unknown rule \"VanishingGradients\"; did you mean VanishingGradient?");
  EXPECT_THAT(message("Frobnicate"),
              StartsWith("unknown rule \"Frobnicate\"; the rules are AllZero, CheckInputImages, "));
}

TEST(BuiltinRules, parameters_are_checked_without_a_run) {
  EXPECT_THROW(builtin_rules().require("VanishingGradient").needs({{"threshold", "x"}}),
               UsageError);
  EXPECT_NO_THROW(builtin_rules().require("VanishingGradient").needs({{"threshold", "1"}}));
}

}  // namespace
}  // namespace cupel::testing
