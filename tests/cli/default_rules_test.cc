// `cupel watch` without rules, --rule all, and rules that have nothing to judge.

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_fixture.h"
#include "cupel/rules/rule_catalog.h"

namespace cupel::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A run that holds "loss" and nothing else.
class DefaultRules : public CliTest {
 protected:
  void save_losses(double last = 1) {
    writer_.collection("losses", {"loss"});
    for (std::int64_t step = 0; step < 3; ++step)
      writer_.save(step, {scalar("loss", step == 2 ? last : 1.0 / static_cast<double>(step + 1))});
    writer_.finish();
  }
  Ran watch(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"watch", path()});
    return run(more);
  }
  static std::set<std::string> names_in(const Ran& ran) {
    std::set<std::string> names;
    for (const Json& line : ran.json_lines()) names.insert(line["name"]);
    return names;
  }

  WorkerWriter writer_{store_};
};

TEST_F(DefaultRules, judge_where_none_is_named) {
  save_losses(kNaN);
  const Ran ran = watch({"--json"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(names_in(ran), Contains("ExplodingTensor"));
  EXPECT_EQ(ran.json_lines().at(0)["step"], 2);
}

TEST_F(DefaultRules, are_the_built_in_ones_that_need_no_parameter) {
  save_losses();
  const Ran ran = watch({"--json"});
  std::set<std::string> names = names_in(ran);
  std::istringstream unfed(ran.err);
  for (std::string line; std::getline(unfed, line);)
    if (line.starts_with("  ")) names.insert(line.substr(2, line.find(':') - 2));
  std::set<std::string> expected;
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical))
    expected.insert(rule->name);
  // These need a choice of tensors, or another run.
  for (const char* name : {"AllZero", "SimilarAcrossRuns", "TensorVariance", "UnchangedTensor"})
    EXPECT_EQ(expected.erase(name), 1) << name;
  EXPECT_EQ(names, expected);
}

TEST_F(DefaultRules, give_no_line_where_they_are_not_fed_and_are_named_with_the_gap) {
  save_losses();
  for (const char* form : {"--json", "--all", "--explain"}) {
    const Ran ran = watch({form});
    EXPECT_EQ(ran.code, kExitFine);
    EXPECT_THAT(ran.out, Not(HasSubstr("VanishingGradient"))) << form;
    EXPECT_THAT(ran.out, HasSubstr("ExplodingTensor")) << form;
    EXPECT_THAT(ran.err, HasSubstr(" rules had nothing to judge:\n"));
    EXPECT_THAT(ran.err, HasSubstr("\n  VanishingGradient: the run has no tensor of the collection "
                                   "gradients; it needs abs_mean, else l1, else raw values of "
                                   "them\n"));
    EXPECT_THAT(ran.err, HasSubstr("\n  Overfit: "));
    EXPECT_THAT(ran.err, Not(HasSubstr("ExplodingTensor:")));
  }
}

TEST_F(DefaultRules, are_in_no_file_where_they_are_not_fed) {
  save_losses();
  watch({"--out", file("lines")});
  std::ifstream in(file("lines"));
  const std::string lines{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(lines, Not(HasSubstr("VanishingGradient")));
  EXPECT_THAT(lines, HasSubstr("ExplodingTensor"));
}

TEST_F(DefaultRules, stand_beside_named_ones_as_all) {
  save_losses();
  const Ran ran = watch(
      {"--rule", "all", "--rule", "exploding_tensor,only_nan=True", "--rule", "all", "--json"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(names_in(ran), Contains("ExplodingTensor#2"));
  EXPECT_THAT(names_in(ran), Not(Contains("ExplodingTensor#3")));
}

TEST_F(DefaultRules, take_no_parameters_together) {
  const Ran ran = watch({"--rule", "all,threshold=1"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("--rule all takes no parameters"));
}

TEST_F(DefaultRules, are_not_added_to_those_of_a_file) {
  save_losses();
  std::ofstream(file("rules.json")) << R"([{"RuleConfigurationName": "ExplodingTensor"}])";
  EXPECT_THAT(names_in(watch({"--config", file("rules.json"), "--json"})),
              ElementsAre("ExplodingTensor"));
}

TEST_F(DefaultRules, can_be_checked) {
  save_losses();
  const Ran ran = run({"check", path(), "--rule", "all"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, HasSubstr("ExplodingTensor: what it needs is saved\n"));
  EXPECT_THAT(ran.out, HasSubstr("VanishingGradient: the run has no tensor"));
}

using NamedRules = DefaultRules;

TEST_F(NamedRules, that_had_nothing_to_judge_close_with_nothing_seen) {
  save_losses();
  const Ran ran = watch({"--rule", "VanishingGradient", "--rule", "ExplodingTensor"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, HasSubstr("\nVanishingGradient  NothingSeen "));
  EXPECT_THAT(ran.out, HasSubstr("\nExplodingTensor    NoIssuesFound "));
  EXPECT_THAT(ran.err, Not(HasSubstr("nothing to judge")));
}

TEST_F(NamedRules, that_had_nothing_to_judge_are_an_exit_code_of_1_when_strict) {
  save_losses();
  EXPECT_EQ(watch({"--strict", "--rule", "VanishingGradient", "--rule", "ExplodingTensor"}).code,
            kExitFound);
  EXPECT_EQ(watch({"--strict", "--rule", "ExplodingTensor"}).code, kExitFine);
  EXPECT_EQ(watch({"--strict"}).code, kExitFine) << "of the default set, one that is fed is enough";
  EXPECT_EQ(watch({"--strict", "--rule", "all", "--rule", "VanishingGradient"}).code, kExitFound);
}

TEST_F(NamedRules, none_of_which_had_anything_to_judge_are_reported) {
  writer_.finish();  // without a step
  for (const std::vector<std::string>& rules :
       {std::vector<std::string>(), {"--rule", "ExplodingTensor"}}) {
    const Ran ran = watch(rules);
    EXPECT_EQ(ran.code, kExitFine);
    EXPECT_THAT(ran.err, EndsWith("cupel watch: no rule had anything to judge\n"));
    std::vector<std::string> strict = rules;
    strict.emplace_back("--strict");
    EXPECT_EQ(watch(strict).code, kExitFound);
  }
}

}  // namespace
}  // namespace cupel::testing
