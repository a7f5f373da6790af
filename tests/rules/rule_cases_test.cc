// Every case of tests/rules/cases/*.json is a test: Detector/<Rule>.<case>.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cupel/core/error.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/run_follower.h"
#include "rules/rule_case.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path kCases = CUPEL_RULE_CASES;

/// What a rule that judges step after step says, and what it read.
struct Said {
  std::map<std::int64_t, Lines> lines;
  std::map<std::int64_t, Lines> reads;
  std::vector<std::int64_t> nan_seen;
  std::vector<std::int64_t> unexplained;
};

enum class Judge { StepAfterStep, Explaining, EachStepAnew };

void judge_step(Rule& rule, std::int64_t step, const Trial& trial, Said& said) {
  const Verdict verdict = RuleEvaluation(rule).at_step(step, RunFollower(trial).snapshot());
  said.reads[step] = readings(verdict);
  if (Lines lines = describe(verdict); !lines.empty()) said.lines[step] = std::move(lines);
  if (verdict.nan_seen()) said.nan_seen.push_back(step);
  // What `watch --explain` has to tell of any step.
  const bool answers =
      !verdict.observations().empty() || !verdict.skips().empty() || !verdict.applicable();
  if (rule.explaining() && !answers) said.unexplained.push_back(step);
}

const RuleDefinition& definition_of(const RuleCase& rule_case) {
  return builtin_rules().require(rule_case.rule,
                                 rule_case.edition.value_or(Definitions::Practical));
}

Said judge(const RuleCase& rule_case, const MemoryRun& run, Judge how) {
  Trial trial = run.open();
  const auto make = [&] { return definition_of(rule_case).make(trial, rule_case.parameters); };
  Said said;
  auto rule = make();
  for (const std::int64_t step : trial.steps()) {
    if (how == Judge::EachStepAnew) rule = make();
    RuleEvaluation(*rule).set_explaining(how == Judge::Explaining);
    judge_step(*rule, step, trial, said);
  }
  return said;
}

// While the run grows, with ticks between its steps.
Said judge_live(const RuleCase& rule_case, bool explaining) {
  const MemoryRun run;
  CaseWriter writer(rule_case, rule_case.steps, *run.store);
  Trial trial = run.open();
  const auto rule = definition_of(rule_case).make(trial, rule_case.parameters);
  RuleEvaluation(*rule).set_explaining(explaining);
  Said said;
  auto tick = rule_case.ticks.begin();
  const auto ask = [&](auto is_now) {
    for (; tick != rule_case.ticks.end() && is_now(*tick); ++tick) {
      trial.refresh();
      const std::chrono::steady_clock::time_point now{std::chrono::seconds(tick->second)};
      const Verdict verdict = RuleEvaluation(*rule).at_tick(now, RunFollower(trial).snapshot());
      EXPECT_EQ(describe(verdict), tick->expected) << "asked at second " << tick->second;
      EXPECT_EQ(verdict.ends_rule(), verdict.fired()) << "asked at second " << tick->second;
    }
  };
  ask([](const RuleCase::Tick& of) { return !of.after && !of.at_the_end; });
  for (const std::int64_t step : writer.numbers()) {
    writer.save(step);
    trial.refresh();
    judge_step(*rule, step, trial, said);
    ask([&](const RuleCase::Tick& of) { return of.after == step; });
  }
  writer.end();
  ask([](const RuleCase::Tick& of) { return of.at_the_end; });
  EXPECT_EQ(tick, rule_case.ticks.end()) << "ticks are not in the order of steps";
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
    expect_all();
    if (case_.edition) return;
    // Rules that do not differ between the editions have one definition.
    const RuleDefinition* const practical = &definition_of(case_);
    case_.edition = Definitions::Reference;
    SCOPED_TRACE("as the reference has it");
    if (&definition_of(case_) != practical) expect_all();
  }

 private:
  void expect_all() {
    if (!case_.mistakes.empty()) return expect_mistakes();
    if (case_.other_steps) {
      const std::string path = (scratch_ / "other").string();
      LocalStore store(path);
      case_.write_other(store);
      case_.parameters["other_trials"] = path;
    }
    if (!case_.ticks.empty()) {
      expect_lines(judge_live(case_, false), "");
      return expect_explained(judge_live(case_, true));
    }
    MemoryRun run;
    case_.write(run);
    expect_lines(judge(case_, run, Judge::StepAfterStep), "");
    expect_explained(judge(case_, run, Judge::Explaining));
    expect_lines(judge(case_, run, Judge::EachStepAnew), "with --start-step");
  }
  void expect_lines(const Said& said, std::string_view how) const {
    EXPECT_EQ(in_lines(said.lines), in_lines(case_.expected)) << how;
    EXPECT_THAT(said.nan_seen, ElementsAreArray(case_.nan_seen)) << "NaN was met, " << how;
  }
  void expect_explained(const Said& said) const {
    expect_lines(said, "with --explain");
    for (const auto& [step, reads] : case_.reads)
      EXPECT_THAT(said.reads.at(step), ElementsAreArray(reads)) << "read at step " << step;
    EXPECT_THAT(said.unexplained, IsEmpty()) << "steps where --explain has nothing to say";
  }
  void expect_mistakes() const {
    std::string text;
    for (const std::string& mistake : case_.mistakes)
      text += (text.empty() ? "" : "\n") + case_.rule + ": " + mistake;
    try {
      definition_of(case_).needs(case_.parameters);
      FAIL() << "the parameters are taken";
    } catch (const InsufficientInformationForRuleInvocation& error) {
      EXPECT_EQ(std::string(error.what()), "The rule lacks what it needs: rule " + text);
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()), text);
    }
  }
  RuleCase case_;
  ScratchDirectory scratch_;
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

TEST(DetectorCases, there_are_some_of_every_builtin_rule) {
  ASSERT_TRUE(kRegistered);
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical))
    EXPECT_TRUE(std::filesystem::exists(kCases / (std::string(rule->name) + ".json")))
        << rule->name;
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
  EXPECT_EQ(error_of(R"({"name":"a","steps":[{"step":0,"tensors":{}}],"expect":{},)"
                     R"("ticks":[{"after":1,"second":2}]})"),
            "case a of AllZero: a tick is after step 1, which is not saved");
  EXPECT_EQ(error_of(R"({"name":"a","steps":[],"expect":{},"other_run":{"step":[]}})"),
            "case a of AllZero: the other run has the unknown key \"step\"");
  EXPECT_EQ(error_of(R"({"name":"a","definitions":"ours","steps":[],"expect":{}})"),
            "case a of AllZero: definitions are \"practical\" or \"reference\"");
  EXPECT_EQ(error_of(""), "there is no case of AllZero");
}

}  // namespace
}  // namespace cupel::testing
