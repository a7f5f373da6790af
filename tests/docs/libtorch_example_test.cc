// examples/libtorch_mnist.cc is run, and built-in rules judge what it saved: they find nothing in
// the healthy training, and each mistake that --sick builds in is found by the rule of its name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cupel/cupel.h"
#include "cupel/rules/load_rules.h"
#include "cupel/trial/run_comparison.h"
#include "scratch.h"

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Runs the example; returns its exit code, or -1.
int run_example(const std::string& arguments) {
  const int status = ::system((CUPEL_EXAMPLE " " + arguments + " > output 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The rules that fit: what they read is there, and their parameters are for losses of single
// batches.
const std::vector<std::string>& fitting_rules() {
  static const std::vector<std::string> rules = {"VanishingGradient",
                                                 "ExplodingTensor",
                                                 "DeadRelu",
                                                 "PoorWeightInitialization",
                                                 "WeightUpdateRatio",
                                                 "LossNotDecreasing,num_steps=100",
                                                 "Overtraining,patience_train=200",
                                                 "AllZero,collection_names=gradients",
                                                 "UnchangedTensor,collection_names=weights"};
  return rules;
}

// What a rule found in a run.
struct Found {
  cupel::RuleStatus status = cupel::RuleStatus::Error;
  std::set<std::string> tensors = {};
};

// Judges a run by a rule.
Found found_by(const std::string& rule, const std::string& run) {
  const auto trial = cupel::create_trial(run);
  cupel::RuleRunner runner(*trial, {.wait = false});
  runner.add(cupel::load_rules({.specs = {rule}}, cupel::builtin_rules(), {}).rules.at(0));
  Found found;
  const cupel::RunSummary summary = runner.run([&](const cupel::VerdictLine& line) {
    for (const cupel::Finding& finding : line.tensors) found.tensors.insert(finding.tensor);
  });
  found.status = summary.rules.at(0).status;
  return found;
}

class LibtorchExample : public ::testing::Test {
 protected:
  cupel_docs::Scratch scratch_;
};

TEST_F(LibtorchExample, a_healthy_training_passes_every_rule_that_fits) {
  ASSERT_EQ(run_example("healthy"), 0);
  for (const std::string& rule : fitting_rules()) {
    const Found found = found_by(rule, "healthy");
    EXPECT_EQ(found.status, cupel::RuleStatus::NoIssuesFound) << rule;
    EXPECT_THAT(found.tensors, IsEmpty()) << rule;
  }
}

TEST_F(LibtorchExample, a_healthy_training_learns_to_read_digits) {
  ASSERT_EQ(run_example("healthy"), 0);
  const auto trial = cupel::create_trial("healthy");
  const cupel::Tensor accuracy = trial->tensor("accuracy");
  EXPECT_THAT(accuracy.steps(), ElementsAre(300));
  EXPECT_GT(accuracy.value(300).at(0), 0.9);
  const cupel::Tensor loss = trial->tensor("loss");
  EXPECT_GT(loss.value(0).at(0), 2);
  EXPECT_LT(loss.value(299).at(0), 0.5);
}

TEST_F(LibtorchExample, the_watch_names_and_saves_what_the_network_computes) {
  ASSERT_EQ(run_example("healthy --steps 1"), 0);
  const auto trial = cupel::create_trial("healthy");
  std::vector<std::string> expected = {"CrossEntropyLoss_output_0", "accuracy", "loss"};
  for (const std::string layer : {"conv1", "conv2", "fc1", "fc2"}) {
    expected.push_back("Net_" + layer + ".weight");
    expected.push_back("gradient/Net_" + layer + ".weight");
    expected.push_back("gradient/Net_" + layer + ".bias");
  }
  for (const std::string k : {"0", "1", "2"}) expected.push_back("relu_output_" + k);
  EXPECT_THAT(trial->tensor_names(), ::testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(trial->tensor("Net_conv1.weight").value(0).shape(), (cupel::Shape{8, 1, 3, 3}));
  EXPECT_EQ(trial->tensor("relu_output_0").value(0).shape(), (cupel::Shape{64, 8, 16, 16}));
}

TEST_F(LibtorchExample, the_gradients_that_vanish_are_found_by_VanishingGradient) {
  ASSERT_EQ(run_example("sick --sick vanishing"), 0);
  EXPECT_THAT(found_by("VanishingGradient", "sick").tensors, Contains("gradient/Net_conv1.weight"));
}

TEST_F(LibtorchExample, the_training_that_explodes_is_found_by_ExplodingTensor) {
  ASSERT_EQ(run_example("sick --sick exploding"), 0);
  EXPECT_THAT(found_by("ExplodingTensor", "sick").tensors,
              IsSupersetOf({"loss", "Net_conv1.weight"}));
}

TEST_F(LibtorchExample, the_ReLUs_that_are_never_active_are_found_by_DeadRelu) {
  ASSERT_EQ(run_example("sick --sick dead-relu"), 0);
  EXPECT_THAT(found_by("DeadRelu", "sick").tensors, Contains("relu_output_0"));
}

// Each disease by its rule also with other seeds.
class LibtorchExampleSeeds : public ::testing::TestWithParam<int> {
 protected:
  cupel_docs::Scratch scratch_;
};

TEST_P(LibtorchExampleSeeds, verdicts_do_not_depend_on_the_seed) {
  const std::string seed = " --seed " + std::to_string(GetParam());
  ASSERT_EQ(run_example("healthy" + seed), 0);
  for (const std::string& rule : fitting_rules())
    EXPECT_THAT(found_by(rule, "healthy").tensors, IsEmpty()) << rule;
  const std::map<std::string, std::string> rules = {{"vanishing", "VanishingGradient"},
                                                    {"exploding", "ExplodingTensor"},
                                                    {"dead-relu", "DeadRelu"}};
  for (const auto& [disease, rule] : rules) {
    ASSERT_EQ(run_example(disease + seed + " --steps 100 --sick " + disease), 0);
    EXPECT_THAT(found_by(rule, disease).tensors, Not(IsEmpty())) << disease;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LibtorchExampleSeeds, ::testing::Values(2, 3));

TEST_F(LibtorchExample, the_same_seed_gives_the_same_run_and_another_seed_another_one) {
  ASSERT_EQ(run_example("first --steps 50 --seed 5"), 0);
  ASSERT_EQ(run_example("again --steps 50 --seed 5"), 0);
  ASSERT_EQ(run_example("other --steps 50 --seed 6"), 0);
  const auto agree = [](const std::string& a, const std::string& b) {
    const auto first = cupel::create_trial(a);
    const auto second = cupel::create_trial(b);
    const cupel::RunComparison comparison = cupel::compare_runs(*first, *second);
    if (!comparison.differences.empty()) return false;
    EXPECT_EQ(comparison.steps, 51);
    return true;
  };
  EXPECT_TRUE(agree("first", "again"));
  EXPECT_FALSE(agree("first", "other"));
}

TEST_F(LibtorchExample, a_mistake_in_the_command_line_gives_2_and_saves_nothing) {
  for (const char* arguments : {"run --steps", "run --steps many", "run --steps -1",
                                "run --seed 1x", "run --sick ill", "run --unknown 1"})
    EXPECT_EQ(run_example(arguments), 2) << arguments;
  EXPECT_FALSE(std::filesystem::exists("run"));
}

}  // namespace
