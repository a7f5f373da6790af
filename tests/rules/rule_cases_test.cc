// Every case of tests/rules/cases/*.json is a test: Detector/<Rule>.<case>.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cupel/core/error.h"
#include "rules/rule_case.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const std::filesystem::path kCases = CUPEL_RULE_CASES;

/// What a rule that judges step after step says, and what it read.
struct Said {
  std::map<std::int64_t, Lines> lines;
  std::map<std::int64_t, Lines> reads;
};

enum class Judge { StepAfterStep, Explaining, EachStepAnew };

Said judge(const RuleCase& rule_case, const MemoryRun& run, Judge how) {
  Trial trial = run.open();
  const auto make = [&] { return make_builtin_rule(rule_case.rule, trial, rule_case.parameters); };
  Said said;
  auto rule = make();
  for (const std::int64_t step : trial.steps()) {
    if (how == Judge::EachStepAnew) rule = make();
    rule->set_explaining(how == Judge::Explaining);
    const Verdict verdict = rule->evaluate(step, trial.snapshot());
    said.reads[step] = readings(verdict);
    if (Lines lines = describe(verdict); !lines.empty()) said.lines[step] = std::move(lines);
  }
  return said;
}

std::string in_lines(const std::map<std::int64_t, Lines>& said) {
  std::string text;
  for (const auto& [step, lines] : said)
    for (const std::string& line : lines) text += std::to_string(step) + "  " + line + "\n";
  return text;
}

class DetectorCase : public ::testing::Test {
 public:
  explicit DetectorCase(RuleCase rule_case) : case_(std::move(rule_case)) {}
  void TestBody() override {
    if (!case_.mistakes.empty()) return expect_mistakes();
    MemoryRun run;
    case_.write(run);
    EXPECT_EQ(in_lines(judge(case_, run, Judge::StepAfterStep).lines), in_lines(case_.expected));
    const Said explained = judge(case_, run, Judge::Explaining);
    EXPECT_EQ(in_lines(explained.lines), in_lines(case_.expected)) << "with --explain";
    for (const auto& [step, reads] : case_.reads)
      EXPECT_THAT(explained.reads.at(step), ElementsAreArray(reads)) << "read at step " << step;
    EXPECT_EQ(in_lines(judge(case_, run, Judge::EachStepAnew).lines), in_lines(case_.expected))
        << "with --start-step";
  }

 private:
  void expect_mistakes() const {
    std::string text;
    for (const std::string& mistake : case_.mistakes)
      text += (text.empty() ? "" : "\n") + case_.rule + ": " + mistake;
    try {
      require_builtin_rule(case_.rule).check(case_.parameters);
      FAIL() << "the parameters are taken";
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()), text);
    }
  }
  RuleCase case_;
};

/// Stands for a file that cannot be read.
class MalformedFile : public ::testing::Test {
 public:
  explicit MalformedFile(std::string why) : why_(std::move(why)) {}
  void TestBody() override { FAIL() << why_; }

 private:
  std::string why_;
};

template <class T, class Argument>
void register_test(const std::string& suite, const std::string& name, const Argument& argument) {
  ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [argument]() -> ::testing::Test* { return new T(argument); });
}

const bool kRegistered = [] {
  for (const auto& entry : std::filesystem::directory_iterator(kCases)) {
    if (entry.path().extension() != ".json") continue;
    const std::string rule = entry.path().stem().string();
    try {
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      for (const RuleCase& rule_case : read_cases(text.str())) {
        if (rule_case.rule != rule) throw std::runtime_error("it is about " + rule_case.rule);
        register_test<DetectorCase>("Detector/" + rule, rule_case.name, rule_case);
      }
    } catch (const std::exception& error) {
      register_test<MalformedFile>("DetectorFile/" + rule, "is_well_formed",
                                   entry.path().string() + ": " + error.what());
    }
  }
  return true;
}();

// What is more than a run and a step has tests of its own: between_steps_test.cc,
// similar_across_runs_test.cc.
const std::set<std::string_view> kTestedElsewhere = {"SimilarAcrossRuns", "StalledTrainingRule"};

TEST(DetectorCases, there_are_some_of_every_builtin_rule) {
  ASSERT_TRUE(kRegistered);
  for (const BuiltinRule& rule : builtin_rules())
    EXPECT_TRUE(kTestedElsewhere.contains(rule.name) ||
                std::filesystem::exists(kCases / (std::string(rule.name) + ".json")))
        << rule.name;
}

TEST(DetectorCases, a_malformed_one_is_named_with_what_is_wrong) {
  const auto error_of = [](const std::string& rule_case) -> std::string {
    try {
      read_cases(R"({"rule":"AllZero","cases":[)" + rule_case + "]}");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "read";
  };
  EXPECT_EQ(error_of(R"({"name":"a b","steps":[],"expect":{}})"),
            "case a b of AllZero: its name is not a sentence_with_underscores");
  EXPECT_EQ(error_of(R"({"name":"a","step":[],"expect":{}})"),
            "case a of AllZero: the case has the unknown key \"step\"");
  EXPECT_EQ(error_of(R"({"name":"a","steps":[{"step":0,"tensors":{"w":{"men":1}}}],"expect":{}})"),
            "case a of AllZero: tensor w has the unknown key \"men\"");
  EXPECT_EQ(error_of(R"({"name":"a","steps":[{"step":0,"tensors":{}}],"expect":{"1":["x"]}})"),
            "case a of AllZero: step 1 is expected and not saved");
  EXPECT_THAT(error_of(R"({"name":"a","steps":[{"step":0,"tensors":{"w":["x"]}}],"expect":{}})"),
              HasSubstr("\"x\" is no number"));
  EXPECT_EQ(error_of(""), "there is no case of AllZero");
}

}  // namespace
}  // namespace cupel::testing
