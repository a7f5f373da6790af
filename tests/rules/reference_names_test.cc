// A configuration in the form of SageMaker Debugger has the published names only, unless it asks
// for more; a SPEC, and a rule that a program adds, have the usual names as well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cupel/rules/load_rules.h"
#include "rules/rule_fixture.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRules[] = {"CheckInputImages", "DeadRelu", "NLPSequenceRatio",
                                  "PoorWeightInitialization", "SaturatedActivation"};

class ReferenceNames : public ::testing::TestWithParam<const char*> {
 protected:
  LoadedRules load(const std::string& json, const std::vector<std::string>& specs = {}) const {
    const std::string path = (scratch_ / "rules.json").string();
    if (!json.empty()) std::ofstream(path) << json;
    return load_rules({.specs = specs, .config = json.empty() ? "" : path}, builtin_rules(), {});
  }
  static std::string entry(const std::string& rest = "") {
    return R"([{"RuleConfigurationName": ")" + std::string(GetParam()) + "\"" + rest + "}]";
  }
  static const std::vector<FallbackNames>& fallbacks(const RuleNeeds& needs) {
    return needs.tensors.front().tensors.fallbacks;
  }
  static Definitions edition(const LoadedRules& loaded) {
    return loaded.rules.at(0).definition->edition.value();
  }

  ScratchDirectory scratch_;
};

TEST_P(ReferenceNames, are_the_only_ones_of_an_entry_in_the_references_json) {
  const LoadedRules loaded = load(entry());
  ASSERT_THAT(loaded.errors, IsEmpty());
  EXPECT_EQ(edition(loaded), Definitions::Reference);
  EXPECT_THAT(fallbacks(loaded.rules.at(0).needs()), IsEmpty());
}

TEST_P(ReferenceNames, are_the_only_ones_of_an_entry_that_is_wrapped_and_has_parameters) {
  const LoadedRules loaded =
      load(R"({"DebugRuleConfigurations": [{"RuleConfigurationName": "mine", "RuleParameters":
               {"rule_to_invoke": ")" +
           std::string(GetParam()) + R"("}}]})");
  ASSERT_THAT(loaded.errors, IsEmpty());
  EXPECT_THAT(fallbacks(loaded.rules.at(0).needs()), IsEmpty());
}

TEST_P(ReferenceNames, are_joined_by_the_usual_ones_where_the_entry_asks_for_ours) {
  const LoadedRules loaded = load(entry(R"(, "Definitions": "practical")"));
  ASSERT_THAT(loaded.errors, IsEmpty());
  EXPECT_THAT(loaded.warnings, IsEmpty());
  EXPECT_EQ(edition(loaded), Definitions::Practical);
  EXPECT_THAT(fallbacks(loaded.rules.at(0).needs()), Not(IsEmpty()));
  EXPECT_EQ(edition(load(entry(R"(, "Definitions": "reference")"))), Definitions::Reference);
}

TEST_P(ReferenceNames, are_joined_by_the_usual_ones_of_a_spec_and_of_all) {
  const LoadedRules loaded = load("", {GetParam()});
  EXPECT_EQ(edition(loaded), Definitions::Practical);
  EXPECT_THAT(fallbacks(loaded.rules.at(0).needs()), Not(IsEmpty()));
  for (const RuleConfiguration& rule : load("", {"all"}).rules) {
    EXPECT_NE(rule.definition->edition, Definitions::Reference) << rule.name;
  }
}

TEST_P(ReferenceNames, have_the_parameters_and_the_published_pattern_of_the_practical_edition) {
  const RuleDefinition& practical = builtin_rules().require(GetParam());
  const RuleDefinition& reference = builtin_rules().require(GetParam(), Definitions::Reference);
  ASSERT_EQ(practical.parameters.size(), reference.parameters.size());
  for (std::size_t i = 0; i < practical.parameters.size(); ++i) {
    EXPECT_EQ(practical.parameters[i].name, reference.parameters[i].name);
    EXPECT_EQ(practical.parameters[i].default_text, reference.parameters[i].default_text);
  }
  EXPECT_EQ(practical.needs().tensors.front().tensors.patterns.texts(),
            reference.needs().tensors.front().tensors.patterns.texts());
}

INSTANTIATE_TEST_SUITE_P(Table, ReferenceNames, ::testing::ValuesIn(kRules),
                         [](const auto& row) { return std::string(row.param); });

TEST(RulesOfEditions, are_five_and_the_others_have_one_definition) {
  Lines of_editions;
  for (const auto& rule : builtin_rules().definitions())
    if (rule->edition == Definitions::Reference) of_editions.push_back(rule->name);
  EXPECT_EQ(of_editions, Lines(std::begin(kRules), std::end(kRules)));
  EXPECT_EQ(builtin_rules().definitions(Definitions::Practical).size(),
            builtin_rules().definitions(Definitions::Reference).size());
}

TEST(RulesOfEditions, judge_a_run_by_the_names_of_the_edition) {
  MemoryRun run;
  run.worker().save(0, {raw("relu1_output_0", {0, 0})}).finish();
  run.end();
  const auto lines = [&](Definitions edition) {
    Trial trial = run.open();
    RuleRunner runner(trial);
    runner.add(RuleConfiguration{.definition = builtin_rules().find("DeadRelu", edition),
                                 .name = "DeadRelu"});
    return run_all(runner).lines;
  };
  EXPECT_THAT(lines(Definitions::Practical),
              ElementsAre("0 DeadRelu IssuesFound", "end DeadRelu IssuesFound"));
  EXPECT_THAT(lines(Definitions::Reference), ElementsAre(HasSubstr("end DeadRelu NothingSeen")));
}

TEST(RulesOfEditions, of_an_unknown_name_are_a_mistake_with_its_place) {
  const ScratchDirectory scratch;
  const std::string path = (scratch / "rules.json").string();
  const auto errors_of = [&](const std::string& value) {
    std::ofstream(path) << R"([{"RuleConfigurationName": "DeadRelu", "Definitions": )" + value +
                               "}]";
    const LoadedRules loaded = load_rules({.config = path}, builtin_rules(), {});
    EXPECT_THAT(loaded.rules, IsEmpty());
    Lines texts;
    for (const RuleProblem& error : loaded.errors) texts.push_back(error.message);
    return texts;
  };
  EXPECT_THAT(errors_of("\"ours\""),
              ElementsAre(HasSubstr("[0].Definitions: must be \"practical\" or \"reference\", not "
                                    "\"ours\"")));
  EXPECT_THAT(errors_of("1"), ElementsAre(HasSubstr("[0].Definitions: must be \"practical\"")));
}

}  // namespace
}  // namespace cupel::testing
