#include "cupel/rules/rule_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/log_capture.h"
#include "cupel/core/error.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<RuleConfiguration> parse(std::string_view json) {
  return parse_rule_configurations(json, "rules.json");
}

/// The only rule of a configuration, by its entry without the name.
RuleConfiguration rule_with(const std::string& rest) {
  const auto rules = parse(R"([{"RuleConfigurationName": "r", )" + rest + "}]");
  return rules.at(0);
}
RuleConfiguration with_parameters(const std::string& parameters) {
  return rule_with(R"("RuleParameters": {)" + parameters + "}");
}

std::string refusal(std::string_view json) {
  try {
    parse(json);
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

std::string entries(std::size_t count) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") + (R"({"RuleConfigurationName":")" + std::to_string(i) + "\"}");
  return text + "]";
}

TEST(RuleConfigurations, may_be_an_array_or_wrapped_beside_other_sections) {
  EXPECT_THAT(parse(R"([{"RuleConfigurationName": "A"}])"), SizeIs(1));
  LogCapture log;
  const auto rules = parse(R"({"DebugHookConfig": {}, "TensorBoardOutputConfig": 7,
    "DebugRuleConfigurations": [{"RuleConfigurationName": "A"}, {"RuleConfigurationName": "B"}]})");
  ASSERT_THAT(rules, SizeIs(2));
  EXPECT_EQ(rules[0].name, "A");
  EXPECT_EQ(rules[1].name, "B");
  EXPECT_THAT(log.lines(), IsEmpty());
  EXPECT_THAT(parse(R"({"DebugRuleConfigurations": null})"), IsEmpty());
}

TEST(RuleConfigurations, name_their_rule_or_are_called_like_it) {
  EXPECT_EQ(with_parameters(R"("rule_to_invoke": "AllZero")").rule, "AllZero");
  EXPECT_EQ(with_parameters(R"("rule_to_invoke": null)").rule, "r");
  EXPECT_EQ(rule_with(R"("RuleParameters": null)").rule, "r");
}

TEST(RuleConfigurations, hand_the_rule_its_own_parameters_only) {
  const RuleConfiguration rule = with_parameters(
      R"("rule_to_invoke": "X", "source_s3_uri": "x.lua", "action_json": "{}", "other_trial_0": "a",
         "other_trials": "b", "threshold": "1")");
  EXPECT_THAT(rule.parameters, ElementsAre(Pair("threshold", "1")));
  EXPECT_EQ(rule.source, "x.lua");
  EXPECT_EQ(rule.action_json, "{}");
}

TEST(RuleConfigurations, take_numbers_booleans_and_arrays_as_parameters_and_null_as_none) {
  EXPECT_THAT(
      with_parameters(R"("a": 1e-7, "b": 3, "c": true, "d": ["x,y", "z"], "e": null)").parameters,
      ElementsAre(Pair("a", "1e-07"), Pair("b", "3"), Pair("c", "true"),
                  Pair("d", R"(["x,y","z"])")));
}

TEST(RuleConfigurations, take_actions_as_json_too) {
  EXPECT_EQ(with_parameters(R"("action_json": {"name": "log"})").action_json, R"({"name":"log"})");
  EXPECT_EQ(with_parameters(R"("action_json": [{"name": "log"}])").action_json,
            R"([{"name":"log"}])");
}

TEST(RuleConfigurations, order_other_trials_by_number_before_the_lists) {
  const RuleConfiguration rule = with_parameters(
      R"("other_trial_10": "k", "other_trial_2": " c ", "other_trial": "y", "other_trials": "a, b",
         "other_trial_x": "kept")");
  EXPECT_THAT(rule.other_trials, ElementsAre("c", "k", "a", "b", "y"));
  EXPECT_THAT(rule.parameters, ElementsAre(Pair("other_trial_x", "kept")));
}

TEST(RuleConfigurations, leave_out_other_trials_that_are_not_given) {
  RuleParameters parameters = {{"other_trials", "None"}, {"other_trial_0", " "}, {"p", "None"}};
  EXPECT_THAT(take_other_trials(parameters), IsEmpty());
  EXPECT_THAT(parameters, ElementsAre(Pair("p", "None")));
}

TEST(RuleConfigurations, give_other_trials_to_rules_only_that_take_them) {
  RuleParameters parameters;
  give_other_trials("VanishingGradient", {"a", "b"}, parameters);
  EXPECT_THAT(parameters, IsEmpty());
}

TEST(RuleConfigurations, read_collections_as_a_hook_does) {
  const RuleConfiguration rule = rule_with(
      R"("CollectionConfigurations": [{"CollectionName": "relus", "CollectionParameters":
         {"include_regex": "relu", "train.save_interval": 7}}])");
  ASSERT_THAT(rule.collections, SizeIs(1));
  EXPECT_EQ(rule.collections[0].name, "relus");
  EXPECT_EQ(rule.collections[0].parameters.times.over({}).mode(Mode::Train).save_interval, 7);
  EXPECT_EQ(rule.collections[0].parameters.times.over({}).mode(Mode::Eval).save_interval, 500);
}

TEST(RuleConfigurations, read_how_the_rule_is_run) {
  const RunnerParameters runner =
      rule_with(R"("RunnerParameters": {"start_step": "3", "end_step": 9,
                   "stop_on_first_fire": "True", "raise_eval_cond": false, "workers": "a, b"})")
          .runner;
  EXPECT_EQ(runner.start_step, 3);
  EXPECT_EQ(runner.end_step, 9);
  EXPECT_EQ(runner.stop_on_first_fire, true);
  EXPECT_EQ(runner.raise_eval_cond, false);
  EXPECT_THAT(runner.workers, ElementsAre("a", "b"));
  EXPECT_FALSE(rule_with(R"("RunnerParameters": null)").runner.start_step);
}

TEST(RuleConfigurations, warn_of_unknown_keys_but_not_of_the_services) {
  LogCapture log;
  rule_with(R"("RuleEvaluatorImage": "i", "InstanceType": "m", "VolumeSizeInGB": 1,
               "S3OutputPath": "s3://b", "LocalPath": "/x")");
  EXPECT_THAT(log.lines(), IsEmpty());
  rule_with(R"("RuleParameter": {})");
  ASSERT_THAT(log.lines(), SizeIs(1));
  EXPECT_THAT(log.lines()[0].second, AllOf(StartsWith("rules.json: [0]: the key \"RuleParameter\""),
                                           HasSubstr("\"RuleParameters\"")));
}

TEST(RuleConfigurations, tell_all_mistakes_at_once_with_their_places) {
  EXPECT_EQ(refusal(R"({"DebugRuleConfigurations": [
              {"RuleConfigurationName": "a", "RuleParameters": {"p": {"q": 1}}},
              {"RuleConfigurationName": "a", "RunnerParameters": {"start_step": -1}},
              {"RuleParameters": []}, 7]})"),
            "rules.json: 6 mistakes\n"
            "  DebugRuleConfigurations[0].RuleParameters.p: must be text, a number, a boolean or "
            "an array, not an object of 1\n"
            "  DebugRuleConfigurations[1].RuleConfigurationName: must be a name that no other "
            "entry has, not \"a\"\n"
            "  DebugRuleConfigurations[1].RunnerParameters.start_step: must be a whole number from "
            "0 to 9223372036854775807, not -1\n"
            "  DebugRuleConfigurations[2].RuleConfigurationName: must be a name of 1 to 256 "
            "characters, not missing\n"
            "  DebugRuleConfigurations[2].RuleParameters: must be an object or null, not []\n"
            "  DebugRuleConfigurations[3]: must be an object, not 7");
}

TEST(RuleConfigurations, of_a_key_given_twice_have_the_last) {
  EXPECT_THAT(with_parameters(R"("p": "1", "p": "2")").parameters, ElementsAre(Pair("p", "2")));
}

TEST(RuleConfigurations, hold_at_most_what_they_may) {
  EXPECT_THAT(parse(entries(20)), SizeIs(20));
  EXPECT_THAT(refusal(entries(21)), HasSubstr("must be at most 20 rules, not 21"));
}

struct Hostile {
  const char* name;
  std::function<std::string()> text;
  const char* refused_with;
};

void PrintTo(const Hostile& row, std::ostream* out) { *out << row.name; }

std::string named(const std::string& rest) {
  return R"([{"RuleConfigurationName": "r", )" + rest + "}]";
}

const Hostile kHostile[] = {
    {"nothing", [] { return std::string(); }, "this is no JSON"},
    {"an_open_array", [] { return std::string("[{"); }, "this is no JSON: line 1, column 3"},
    {"two_values", [] { return std::string("[] []"); }, "this is no JSON"},
    {"null", [] { return std::string("null"); }, "must be an array, or an object"},
    {"a_number", [] { return std::string("1"); }, "must be an array, or an object"},
    {"an_object_of_something_else", [] { return std::string("{}"); }, "has the key"},
    {"a_wrapped_object", [] { return std::string(R"({"DebugRuleConfigurations": {}})"); },
     "must be an array or null"},
    {"deep_nesting", [] { return repeated("[", 1'000'000); }, "nests at most 64 deep"},
    {"deep_nesting_in_a_parameter",
     [] {
       return named("\"RuleParameters\": {\"p\": " + repeated("[", 100) + repeated("]", 100) + "}");
     },
     "nests at most 64 deep"},
    {"more_than_16_MiB", [] { return "[\"" + std::string(std::size_t{17} << 20U, 'x') + "\"]"; },
     "at most 16 MiB"},
    {"a_long_name",
     [] { return R"([{"RuleConfigurationName": ")" + std::string(257, 'n') + "\"}]"; },
     "a name of 1 to 256 characters"},
    {"a_long_key",
     [] { return named("\"RuleParameters\": {\"" + std::string(257, 'k') + "\": 1}"); },
     "1 to 256 characters, not 257"},
    {"a_long_value",
     [] { return named("\"RuleParameters\": {\"k\": \"" + std::string(16'385, 'v') + "\"}"); },
     "at most 16384 characters, not 16385"},
    {"too_many_parameters",
     [] {
       std::string text = "\"RuleParameters\": {";
       for (int i = 0; i < 101; ++i) text += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": 1";
       return named(text + "}");
     },
     "at most 100 parameters, not 101"},
    {"a_pattern_that_does_not_compile",
     [] {
       return named(R"("CollectionConfigurations": [{"CollectionName": "c",
                       "CollectionParameters": {"include_regex": "("}}])");
     },
     "must be a regular expression"},
    {"workers_of_the_wrong_type", [] { return named(R"("RunnerParameters": {"workers": 3})"); },
     "a comma list or an array of names of workers"},
    {"bytes_that_are_not_utf8", [] { return std::string("[\"\xff\"]"); }, "this is no JSON"},
};

class HostileRuleConfigurations : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileRuleConfigurations, are_refused_with_a_message_of_few_lines) {
  const std::string message = refusal(GetParam().text());
  EXPECT_THAT(message, AllOf(StartsWith("rules.json: "), HasSubstr(GetParam().refused_with)));
  EXPECT_LT(message.size(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(Table, HostileRuleConfigurations, ::testing::ValuesIn(kHostile),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(RuleConfigurations, that_cannot_be_read_are_named) {
  try {
    read_rule_configurations("/nowhere/rules.json");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), StartsWith("/nowhere/rules.json: the configuration cannot be read"));
  }
}

}  // namespace
}  // namespace cupel::testing
