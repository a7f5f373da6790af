#include "cupel/rules/rule_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cupel/core/error.h"
#include "cupel/rules/rule_catalog.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TensorNeed need_of(std::string_view rule, const RuleParameters& parameters) {
  const RuleNeeds needs = builtin_rules().require(rule).needs(parameters);
  EXPECT_THAT(needs.tensors, SizeIs(1));
  return needs.tensors.at(0);
}

TEST(RuleNeeds, say_which_tensors_and_which_parameters_chose_them) {
  const TensorNeed need =
      need_of("AllZero", {{"collection_names", "gradients,weights"}, {"tensor_regex", "relu"}});
  EXPECT_THAT(need.tensors.collections, ElementsAre("gradients", "weights"));
  EXPECT_THAT(need.tensors.patterns.texts(), ElementsAre("relu"));
  EXPECT_THAT(need.tensors.parameters, ElementsAre("collection_names", "tensor_regex"));
  EXPECT_EQ(need.tensors.description(),
            "the collections gradients, weights and names matching \"relu\"");
}

TEST(RuleNeeds, say_what_suffices_which_may_depend_on_a_parameter) {
  const auto suffices_abs_max = [](const char* threshold) {
    const TensorNeed need = need_of("AllZero", {{"tensor_regex", "w"}, {"threshold", threshold}});
    const ReductionSet abs_max = TensorSource::of({{ReductionOp::Max, true}}).reductions;
    return std::any_of(need.suffices.begin(), need.suffices.end(),
                       [&](const TensorSource& source) { return source.reductions == abs_max; });
  };
  EXPECT_TRUE(suffices_abs_max("100"));
  EXPECT_FALSE(suffices_abs_max("50"));
}

TEST(RuleNeeds, are_met_by_counts_where_the_only_token_is_0) {
  const auto suffices_counts = [](const char* tokens) {
    const TensorNeed need = need_of("NLPSequenceRatio", {{"token_values", tokens}});
    return need.suffices.front().kind == TensorSource::Kind::Counts;
  };
  EXPECT_TRUE(suffices_counts("0"));
  EXPECT_FALSE(suffices_counts("0,1"));
}

TEST(RuleNeeds, say_a_patterns_default_where_nothing_chose) {
  EXPECT_THAT(need_of("DeadRelu", {}).tensors.patterns.texts(), ElementsAre(".*relu_output"));
  EXPECT_THAT(need_of("SaturatedActivation", {{"collection_names", "c"}}).tensors.patterns.texts(),
              IsEmpty());
}

TEST(RuleNeeds, say_how_far_apart_steps_may_be_and_which_parameter_says_so) {
  const TensorNeed need = need_of("WeightUpdateRatio", {{"num_steps", "50"}});
  ASSERT_TRUE(need.at_least_every);
  EXPECT_EQ(need.at_least_every->value, 50);
  EXPECT_EQ(need.at_least_every->parameter, "num_steps");
  EXPECT_THAT(need.modes, ElementsAre(Mode::Train, Mode::Global));
  EXPECT_EQ(need.steps.value, 2);
  EXPECT_FALSE(need_of("WeightUpdateRatio", {}).at_least_every);
}

TEST(RuleNeeds, say_how_many_steps_are_compared) {
  const TensorNeed need = need_of("UnchangedTensor", {{"tensor_regex", "w"}, {"num_steps", "7"}});
  EXPECT_EQ(need.steps.value, 7);
  EXPECT_EQ(need.steps.parameter, "num_steps");
}

TEST(RuleNeeds, follow_the_mode_that_a_loss_is_judged_in) {
  EXPECT_THAT(need_of("LossNotDecreasing", {}).modes,
              ElementsAre(Mode::Eval, Mode::Train, Mode::Global));
  EXPECT_THAT(need_of("LossNotDecreasing", {{"mode", "train"}}).modes, ElementsAre(Mode::Train));
  EXPECT_THAT(need_of("VanishingGradient", {}).modes, IsEmpty());
}

TEST(RuleNeeds, say_that_any_one_of_several_inputs_is_enough) {
  const RuleNeeds needs = builtin_rules().require("PoorWeightInitialization").needs({});
  EXPECT_TRUE(needs.any_suffices);
  EXPECT_THAT(needs.tensors, SizeIs(3));
  EXPECT_FALSE(builtin_rules().require("Confusion").needs({}).any_suffices);
}

TEST(RuleNeeds, say_what_a_rule_can_do_without) {
  const RuleNeeds needs = builtin_rules().require("ClassImbalance").needs({});
  ASSERT_THAT(needs.tensors, SizeIs(2));
  EXPECT_FALSE(needs.tensors[0].optional);
  EXPECT_TRUE(needs.tensors[1].optional);
}

TEST(RuleNeeds, say_which_modes_are_compared) {
  EXPECT_THAT(need_of("Overfit", {}).each_of, ElementsAre(Mode::Train, Mode::Eval));
  EXPECT_THAT(need_of("Overtraining", {}).each_of, IsEmpty());
}

TEST(RuleNeeds, count_the_steps_of_each_mode_by_its_own_parameter) {
  const TensorNeed need =
      need_of("Overtraining", {{"patience_train", "3"}, {"patience_validation", "6"}});
  EXPECT_EQ(need.steps_in(Mode::Train).value, 4);
  EXPECT_EQ(need.steps_in(Mode::Eval).value, 7);
  EXPECT_EQ(need.steps_in(Mode::Eval).parameter, "patience_validation");
}

TEST(RuleNeeds, say_how_far_apart_steps_have_to_be) {
  const TensorNeed need = need_of("LossNotDecreasing", {{"num_steps", "7"}});
  ASSERT_TRUE(need.at_least_apart);
  EXPECT_EQ(need.at_least_apart->value, 7);
  EXPECT_FALSE(need.at_least_every);
}

TEST(RuleNeeds, of_a_mean_may_be_met_together_with_the_shape_only) {
  const TensorNeed need = need_of("CheckInputImages", {});
  const auto is_met = [&](const SavedParts& saved) {
    return std::any_of(need.suffices.begin(), need.suffices.end(),
                       [&](const TensorSource& source) { return source.is_in(saved); });
  };
  const ReductionSet mean = TensorSource::of({{ReductionOp::Mean, false}}).reductions;
  EXPECT_FALSE(is_met({.counts = true, .reductions = mean}));
  EXPECT_TRUE(is_met({.shape = true, .reductions = mean}));
  EXPECT_FALSE(is_met({.shape = true}));
}

TEST(TensorSource, of_two_reductions_is_any_that_has_two) {
  const TensorSource two = TensorSource::any(2);
  EXPECT_FALSE(two.is_in({.reductions = TensorSource::of({{ReductionOp::Min, false}}).reductions}));
  EXPECT_TRUE(two.is_in(
      {.reductions =
           TensorSource::of({{ReductionOp::Min, false}, {ReductionOp::L2, false}}).reductions}));
}

TEST(RuleNeeds, of_bad_parameters_are_refused_as_the_rule_is) {
  EXPECT_THROW(builtin_rules().require("AllZero").needs({}), UsageError);
}

TEST(RuleNeeds, in_words_name_one_number_once_and_the_cheapest_first) {
  EXPECT_EQ(builtin_rules().require("VanishingGradient").reads(),
            "the collection gradients: abs_mean, else l1, else raw values");
  EXPECT_EQ(builtin_rules().require("TensorVariance").reads(),
            "the tensors chosen by collection_names and tensor_regex: variance, else std, else raw "
            "values");
  EXPECT_EQ(builtin_rules().require("WeightUpdateRatio").reads(),
            "the collection weights, of the steps of TRAIN, else all: raw values, often spared by "
            "l2");
}

}  // namespace
}  // namespace cupel::testing
