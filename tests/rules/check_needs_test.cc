#include "cupel/rules/check_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/rules/rule_catalog.h"
#include "cupel/writer/saving_plan.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SavingPlan plan(const std::string& collections, const std::string& hook = "",
                HookOptions base = {}) {
  return saving_plan(parse_hook_configuration(
      R"({"HookParameters": {)" + hook + R"(}, "CollectionConfigurations": [)" + collections + "]}",
      "hook.json", std::move(base)));
}

/// A collection with a pattern.
std::string collection(const std::string& pattern) {
  return R"({"CollectionName": "c", "CollectionParameters": {"include_regex": ")" + pattern +
         "\"}}";
}

std::vector<Gap> gaps(std::string_view rule, const RuleParameters& parameters,
                      const SavingPlan& saved) {
  return find_gaps(rule, builtin_rules().require(rule).needs(parameters), saved);
}

/// "pattern: no saved collection has …"
std::vector<std::string> gap_texts(const std::vector<Gap>& all) {
  std::vector<std::string> lines;
  for (const Gap& gap : all) lines.push_back(std::string(to_string(gap.kind)) + ": " + gap.found);
  return lines;
}

struct Match {
  const char* asked;
  const char* saved;
  bool feeds;
};

class Patterns : public ::testing::TestWithParam<Match> {};

TEST_P(Patterns, feed_each_other_where_an_example_of_one_is_found_by_the_other) {
  const Match& row = GetParam();
  const auto found = gaps("DeadRelu", {{"tensor_regex", row.asked}}, plan(collection(row.saved)));
  EXPECT_EQ(found.empty(), row.feeds) << row.asked << " of " << row.saved;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Patterns,
    ::testing::Values(Match{".*relu_output", ".*relu_output", true},
                      Match{".*relu_output", "relu", true},
                      Match{".*relu_output", "relu.*output$", true},
                      Match{"relu", "conv[0-9]+/relu_output", true}, Match{"a|b|c", "^c$", true},
                      Match{"(x|y)_out", "y_out", true}, Match{"^trees/Node$", "^trees/", true},
                      Match{"fc1[.]bias", "bias", true}, Match{"fc1\\\\.bias", "bias", true},
                      Match{"a(?!b)c", "ac", true}, Match{".*relu_output", "tanh", false},
                      Match{"^relu$", "relu_", false}, Match{"relu_input", "relu_output", false},
                      Match{"a", "^b", false}));

TEST(CheckNeeds, of_listed_names_looks_at_the_names) {
  HookConfiguration configuration;
  configuration.options.include_collections = {"c"};
  configuration.collections.emplace_back("c").add_tensor_name("m/relu_output_3");
  EXPECT_THAT(gaps("DeadRelu", {}, saving_plan(configuration)), IsEmpty());
}

TEST(CheckNeeds, a_collection_of_the_users_without_anything_in_it_feeds_nobody) {
  const auto found =
      gaps("AllZero", {{"collection_names", "c"}}, plan(R"({"CollectionName": "c"})"));
  EXPECT_THAT(gap_texts(found),
              ElementsAre("collection: the collection c has neither patterns nor names"));
}

TEST(CheckNeeds, one_that_is_built_in_is_filled_by_calls) {
  EXPECT_THAT(
      gaps("AllZero", {{"collection_names", "inputs"}}, plan(R"({"CollectionName": "inputs"})")),
      IsEmpty());
}

TEST(CheckNeeds, each_collection_and_pattern_that_a_parameter_names_is_to_be_fed) {
  const auto found =
      gaps("AllZero", {{"collection_names", "weights,biases"}, {"tensor_regex", "a,b"}},
           plan(R"({"CollectionName": "weights"}, )" + collection("^a")));
  ASSERT_THAT(gap_texts(found),
              ElementsAre("collection: the collection biases is not saved",
                          "pattern: no saved collection has names matching \"b\""));
  EXPECT_EQ(found[0].parameter, "collection_names");
  EXPECT_EQ(found[1].parameter, "tensor_regex");
}

TEST(CheckNeeds, a_collection_of_another_name_with_the_same_tensors_feeds_too) {
  EXPECT_THAT(gaps("VanishingGradient", {}, plan(collection("^gradient/fc"))), SizeIs(0));
}

TEST(CheckNeeds, gradients_are_not_saved_in_evaluation) {
  const auto found =
      gaps("VanishingGradient", {}, plan(R"({"CollectionName": "gradients", "CollectionParameters":
                                   {"train.end_step": 0, "predict.end_step": 0,
                                    "global.end_step": 0}})"));
  EXPECT_THAT(gap_texts(found),
              ElementsAre("mode: the collection gradients is not saved at any step"));
}

TEST(CheckNeeds, names_tell_training_from_validation_in_the_profile_xgboost) {
  const std::string only_train = R"({"CollectionName": "losses", "CollectionParameters":
                                     {"eval.end_step": 0}})";
  EXPECT_THAT(gaps("Overfit", {}, plan(only_train)), SizeIs(1));
  EXPECT_THAT(gaps("Overfit", {}, plan(only_train, "", {.profile = Profile::XGBoost})), IsEmpty());
}

TEST(CheckNeeds, what_the_hook_saves_by_default_counts) {
  EXPECT_THAT(gap_texts(gaps("VanishingGradient", {},
                             plan(R"({"CollectionName": "gradients"})", R"("reductions": "max")"))),
              ElementsAre("source: of the collection gradients only max is saved"));
  EXPECT_THAT(gaps("VanishingGradient", {}, plan("", R"("save_all": true)")), IsEmpty());
}

TEST(CheckNeeds, listed_steps_count_like_those_of_the_interval) {
  const auto with_steps = [](const std::string& steps) {
    return plan(R"({"CollectionName": "weights", "CollectionParameters":
                    {"end_step": 0, "save_steps": ")" +
                steps + "\"}}");
  };
  const RuleParameters ten = {{"num_steps", "10"}};
  EXPECT_THAT(gaps("WeightUpdateRatio", ten, with_steps("100,200,210")), IsEmpty());
  EXPECT_THAT(gap_texts(gaps("WeightUpdateRatio", ten, with_steps("100,200,211"))),
              ElementsAre("interval: the collection weights is saved every 11 steps of TRAIN"));
  EXPECT_THAT(gap_texts(gaps("WeightUpdateRatio", ten, with_steps("100"))),
              ElementsAre("steps: the collection weights is saved at 1 step of TRAIN"));
}

TEST(CheckNeeds, extreme_numbers_are_only_numbers) {
  EXPECT_THAT(gaps("WeightUpdateRatio", {{"num_steps", "9223372036854775807"}},
                   plan(R"({"CollectionName": "weights", "CollectionParameters":
                            {"save_interval": 9223372036854775807}})")),
              SizeIs(1));
  EXPECT_THAT(gaps("WeightUpdateRatio", {}, plan(R"({"CollectionName": "weights",
      "CollectionParameters": {"start_step": 9223372036854775807, "save_interval": 7}})")),
              SizeIs(1));
  EXPECT_THAT(gaps("WeightUpdateRatio", {}, plan(R"({"CollectionName": "weights",
      "CollectionParameters": {"end_step": 9223372036854775807, "save_interval": 1}})")),
              IsEmpty());
}

TEST(CheckNeeds, patterns_that_are_hard_to_imagine_do_no_harm) {
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "(a|b";
  nested += std::string(100, ')');
  for (const std::string& pattern :
       {nested, std::string("[]]x{2}(?<n>y)?"), std::string("a{"), std::string("[^a-z\\\\]]+")})
    EXPECT_THAT(gaps("DeadRelu", {{"tensor_regex", pattern}}, plan("")), SizeIs(1)) << pattern;
}

TEST(CheckNeeds, closes_a_gap_by_adding_to_the_entry_that_is_there) {
  const auto found =
      gaps("VanishingGradient", {}, plan(R"({"CollectionName": "gradients", "CollectionParameters":
      {"include_regex": "d_", "save_interval": "7", "reductions": "max"}})"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].closing,
            R"({"CollectionName":"gradients","CollectionParameters":{"include_regex":"d_",)"
            R"("save_interval":"7","reductions":"max,abs_mean"}})");
}

TEST(CheckNeeds, asks_all_workers_to_save_where_there_are_several) {
  HookOptions base;
  base.num_workers = 3;
  const std::string gradients = R"({"CollectionName": "gradients"})";
  const auto found = gaps("VanishingGradient", {}, plan(gradients, "", base));
  EXPECT_THAT(gap_texts(found), ElementsAre("worker: one of 3 workers saves"));
  EXPECT_THAT(gaps("VanishingGradient", {}, plan(gradients, R"("include_workers": "all")", base)),
              IsEmpty());
}

}  // namespace
}  // namespace cupel::testing
