// The command line of a program with a rule of its own, whose rule is named like a built-in one.

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "cli/cli_fixture.h"
#include "command_line.h"
#include "cupel/command/rules_main.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"

namespace cupel::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Fires where the mean of a weight is above a limit, which has no default.
class MeanTooLarge final : public TensorRule {
 public:
  struct Options {
    double limit = 0;
    std::string collection;
  };
  static RuleDefinition definition() {
    return define_rule<MeanTooLarge>(
        {.name = "MeanTooLarge",
         .summary = "a mean is too large",
         .description = "The mean is compared with the limit.",
         .example = "MeanTooLarge,limit=3"},
        {option(&Options::limit, {.name = "limit", .required = true, .help = "the limit"}),
         option(&Options::collection,
                {.name = "collection", .default_text = "weights", .help = "what to judge"})});
  }
  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = {.collections = {options.collection}, .parameters = {"collection"}},
              .suffices = {TensorSource::of({kMean})}}}};
  }
  MeanTooLarge(Trial& base, const Options& options)
      : TensorRule(base, needs(options)), limit_(options.limit) {}

 private:
  static constexpr Reduction kMean{ReductionOp::Mean, false};
  void judge(TensorCopy& copy) override {
    const auto mean = copy.saved(kMean);
    if (!mean) return copy.skip("there is no mean");
    copy.judged(*mean > limit_, *mean, limit_, [] { return JudgementText{"mean", "", "large"}; });
  }
  const double limit_;
};

class OwnRules : public CliTest {
 protected:
  OwnRules() { program_.rules.add(MeanTooLarge::definition()); }
  Ran run(const std::vector<std::string>& arguments) const {
    std::ostringstream out, err;
    Ran ran;
    ran.code = run_command_line(program_, arguments, out, err);
    ran.out = out.str();
    ran.err = err.str();
    return ran;
  }
  void save(double mean) {
    WorkerWriter(store_)
        .collection("weights", {"^w"})
        .save(0, {reduced("w", "mean", mean), raw("v", {1})})
        .finish();
  }
  std::string hook(const std::string& text) const {
    std::ofstream(file("hook.json")) << text;
    return file("hook.json");
  }

  Program program_{.name = "my_rules"};
};

TEST_F(OwnRules, are_judged_beside_built_in_ones) {
  save(5);
  const Ran ran = run({"watch", path(), "--rule", "mean_too_large,limit=3", "--rule",
                       "ExplodingTensor", "--no-wait", "--json"});
  EXPECT_EQ(ran.code, kExitFound) << ran.err;
  const std::vector<Json> lines = ran.json_lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["rule"], "MeanTooLarge");
  EXPECT_EQ(lines[0]["tensors"][0]["value"], 5);
  EXPECT_EQ(lines[2]["rule"], "ExplodingTensor");
}

TEST_F(OwnRules, without_a_required_parameter_belong_to_the_set_of_all) {
  program_.rules = RuleCatalog();
  RuleDefinition definition = MeanTooLarge::definition();
  definition.parameters[0].required = false;
  definition.parameters[0].default_text = "3";
  program_.rules.add(definition);
  save(5);
  EXPECT_THAT(run({"watch", path(), "--no-wait"}).out, HasSubstr("MeanTooLarge"));
}

TEST_F(OwnRules, that_a_hook_does_not_feed_have_a_gap) {
  const std::string saving =
      hook(R"({"CollectionConfigurations": [{"CollectionName": "biases"}]})");
  const Ran ran = run({"check", saving, "--rule", "MeanTooLarge,limit=3"});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out, StartsWith("MeanTooLarge: the collection weights is not saved\n"
                                  "  needs      mean of them\n"
                                  "  for        the collection weights, by collection\n"));
}

TEST_F(OwnRules, are_listed_and_described_like_built_in_ones) {
  EXPECT_THAT(run({"rules"}).out, HasSubstr("\nMeanTooLarge "));
  EXPECT_EQ(run({"rules", "MeanTooLarge"}).out,
            "MeanTooLarge: a mean is too large\n"
            "\n"
            "The mean is compared with the limit.\n"
            "\n"
            "reads  the collection weights: mean\n"
            "\n"
            "PARAMETER   TYPE   DEFAULT\n"
            "limit       float  required  the limit\n"
            "collection  text   weights   what to judge\n"
            "\n"
            "my_rules watch TRIAL --rule MeanTooLarge,limit=3,collection=weights\n"
            "my_rules watch TRIAL --rule MeanTooLarge,limit=3\n");
  const Json page = run({"rules", "MeanTooLarge", "--json"}).json();
  EXPECT_EQ(page["parameters"][0].dump(),
            R"({"name":"limit","type":"float","default":null,"help":"the limit","required":true})");
  ASSERT_EQ(run({"rules", "--markdown", file("pages")}).code, kExitFine);
  std::ostringstream text;
  text << std::ifstream(file("pages/MeanTooLarge.md")).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("| `limit` | float | required | the limit |\n"
                                    "| `collection` | text | `weights` | what to judge |\n"));
}

TEST_F(OwnRules, are_completed) {
  EXPECT_EQ(run({"completion", "--words", "watch", path(), "--rule", "Mean"}).out,
            "MeanTooLarge\n");
  EXPECT_THAT(run({"completion", "bash"}).out, HasSubstr("\ncomplete -o bashdefault -o default -F "
                                                         "_my_rules my_rules\n"));
}

TEST_F(OwnRules, with_mistakes_are_reported_by_the_name_of_the_program) {
  const Ran ran = run({"watch", path(), "--rule", "MeanTooLarge", "--rule", "MeanTooLrge"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, StartsWith("my_rules watch: "));
  EXPECT_THAT(ran.err, HasSubstr("MeanTooLarge: limit is not given"));
  EXPECT_THAT(ran.err, HasSubstr("\nmy_rules watch: unknown rule \"MeanTooLrge\""));
  EXPECT_THAT(ran.err, HasSubstr("did you mean MeanTooLarge?\n"));
  EXPECT_THAT(run({"wach"}).err, StartsWith("my_rules: unknown command \"wach\""));
  EXPECT_THAT(run({"watch", path(), "--rul", "x"}).err,
              HasSubstr("\nmy_rules watch --help shows what it takes\n"));
}

TEST_F(OwnRules, come_with_the_help_of_the_program_and_without_the_demo) {
  const Ran ran = run({"--help"});
  EXPECT_THAT(ran.out, HasSubstr("\n  my_rules info runs/mnist\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("demo")));
  EXPECT_THAT(ran.out, Not(HasSubstr("cupel")));
  EXPECT_THAT(run({"help", "watch"}).out, HasSubstr("\n  my_rules watch runs/mnist\n"));
  EXPECT_THAT(run({"help", "--manual"}).out, StartsWith(".TH MY_RULES 1 "));
  EXPECT_THAT(run({"rules", "--new", "Mine"}).out,
              HasSubstr("\n--   my_rules check TRIAL --rule mine.lua "));
}

// Returns the exit code of a process of the program with these definitions.
int main_with(std::vector<std::string> words, const std::vector<RuleDefinition>& definitions) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return rules_main(static_cast<int>(words.size()), argv.data(), definitions);
}

TEST(RulesMainDeathTest, runs_a_command_by_the_name_of_the_program) {
  EXPECT_EXIT(std::exit(main_with({"/opt/tools/my_rules", "watch"}, {MeanTooLarge::definition()})),
              ::testing::ExitedWithCode(kExitError), "^my_rules watch: TRIAL is required");
  EXPECT_EXIT(
      std::exit(main_with({"my_rules", "rules", "MeanTooLarge"}, {MeanTooLarge::definition()})),
      ::testing::ExitedWithCode(kExitFine), "");
}

TEST(RulesMainDeathTest, refuses_every_definition_that_is_wrong) {
  RuleDefinition built_in = MeanTooLarge::definition();
  built_in.name = "VanishingGradient";
  RuleDefinition empty = MeanTooLarge::definition();
  empty.make_rule = nullptr;
  EXPECT_EXIT(std::exit(main_with({"my_rules", "rules"}, {built_in, empty})),
              ::testing::ExitedWithCode(kExitError),
              "my_rules: the definition of the rule \"VanishingGradient\" .*\n"
              "my_rules: the definition of the rule \"MeanTooLarge\" ");
}

}  // namespace
}  // namespace cupel::testing
