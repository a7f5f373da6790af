// The rules of tests/scripting/parity give the same lines as the built-in ones of their names, but
// for the time: over every case of tests/rules/cases, and over runs made at random.
// Every case is a test, LuaParity/<Rule>.<case>.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "cupel/core/error.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/trial/run_follower.h"
#include "rules/rule_case.h"
#include "rules/runner_results.h"
#include "scripting/lua_rule_of.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr std::array kRules = {"VanishingGradient", "ExplodingTensor", "LossNotDecreasing",
                               "WeightUpdateRatio"};

enum class Language { Cpp, Lua };

std::shared_ptr<const RuleDefinition> in_lua(const std::string& rule) {
  return lua_rule(std::string(CUPEL_LUA_PARITY) + "/" + rule + ".lua");
}

std::unique_ptr<Rule> make(Language language, const std::string& rule, Trial& trial,
                           const RuleParameters& parameters) {
  if (language == Language::Cpp) return builtin_rules().require(rule).make(trial, parameters);
  return in_lua(rule)->make(trial, parameters);
}

// All lines in one text, so that a difference is shown.
std::string lines_of(Language language, const RuleCase& rule_case, const MemoryRun& run,
                     RunnerOptions options = {}) {
  Trial trial = run.open();
  options.wait = false;
  RuleRunner runner(trial, options);
  runner.add(make(language, rule_case.rule, trial, rule_case.parameters));
  std::string text;
  for (const std::string& line : run_all(runner).timeless_lines) text += line + "\n";
  return text;
}

void expect_same_lines(const RuleCase& rule_case, const MemoryRun& run) {
  const auto compare = [&](const RunnerOptions& options, const char* how) {
    EXPECT_EQ(lines_of(Language::Lua, rule_case, run, options),
              lines_of(Language::Cpp, rule_case, run, options))
        << how;
  };
  compare({}, "at once");
  compare({.explain = true}, "with --explain");
  const std::vector<std::int64_t> steps = run.open().steps();
  compare({.start_step = steps[steps.size() / 2], .explain = true}, "with --start-step");
}

// While the run grows.
Lines said_live(Language language, const RuleCase& rule_case) {
  const MemoryRun run;
  CaseWriter writer(rule_case, rule_case.steps, *run.store);
  Trial trial = run.open();
  const auto rule = make(language, rule_case.rule, trial, rule_case.parameters);
  Lines lines;
  for (const std::int64_t step : writer.numbers()) {
    writer.save(step);
    trial.refresh();
    const Verdict verdict = RuleEvaluation(*rule).at_step(step, RunFollower(trial).snapshot());
    lines.push_back("step " + std::to_string(step) + (verdict.nan_seen() ? ", NaN" : ""));
    for (std::string& line : describe(verdict)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string mistakes_in(const std::string& rule, const RuleParameters& parameters) {
  try {
    in_lua(rule)->needs(parameters);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

class ParityCase : public ::testing::Test {
 public:
  explicit ParityCase(RuleCase rule_case) : case_(std::move(rule_case)) {}
  void TestBody() override {
    if (!case_.mistakes.empty()) return expect_mistakes();
    const MemoryRun run;
    case_.write(run);
    expect_same_lines(case_, run);
    if (case_.values_removed) return;  // by then the run has ended
    EXPECT_THAT(said_live(Language::Lua, case_), ElementsAreArray(said_live(Language::Cpp, case_)))
        << "step after step";
  }

 private:
  // Defaults are spelled otherwise, and what needs() finds is reported when the parameters are
  // legal.
  void expect_mistakes() const {
    const std::string text = mistakes_in(case_.rule, case_.parameters);
    for (const std::string& mistake : case_.mistakes) {
      if (mistake.find("legal is") == std::string::npos) continue;
      EXPECT_THAT(text, HasSubstr(case_.rule + ": " + mistake.substr(0, mistake.rfind(" ("))));
    }
  }
  RuleCase case_;
};

const std::size_t kRegistered = [] {
  std::size_t count = 0;
  for (const std::string rule : kRules) {
    std::ostringstream text;
    text << std::ifstream(std::filesystem::path(CUPEL_RULE_CASES) / (rule + ".json")).rdbuf();
    for (const RuleCase& rule_case : read_cases(text.str())) {
      ::testing::RegisterTest(
          ("LuaParity/" + rule).c_str(), rule_case.name.c_str(), nullptr, nullptr, __FILE__,
          __LINE__, [rule_case]() -> ::testing::Test* { return new ParityCase(rule_case); });
      ++count;
    }
  }
  return count;
}();

TEST(LuaParity, is_shown_by_every_case_of_four_rules) { EXPECT_GE(kRegistered, 50U); }

TEST(LuaParity, a_loss_that_nobody_chose_is_refused_before_there_is_a_run) {
  try {
    in_lua("LossNotDecreasing")->needs({{"use_losses_collection", "False"}});
    FAIL() << "it is taken";
  } catch (const ScriptError& error) {
    EXPECT_THAT(error.problem, HasSubstr("which losses to look at is not given"));
    EXPECT_GT(error.line, 0);
  }
}

TEST(LuaParity, a_pattern_that_does_not_compile_is_refused_before_there_is_a_run) {
  try {
    in_lua("ExplodingTensor")->needs({{"tensor_regex", "("}});
    FAIL() << "it is taken";
  } catch (const ScriptError& error) {
    EXPECT_THAT(error.problem, HasSubstr("'(', offset 1: missing closing parenthesis"));
    EXPECT_GT(error.line, 0);
  }
}

TEST(LuaParity, needs_are_those_of_the_built_in_rules) {
  for (const std::string rule : kRules)
    EXPECT_EQ(describe(in_lua(rule)->needs()), describe(builtin_rules().require(rule).needs({})));
}

/// Runs of a few tensors, of which anything may have been saved.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed) {}

  RuleCase make(const std::string& rule) {
    RuleCase made;
    made.rule = rule;
    made.workers = {"worker_2", "worker_10"};
    made.collections = {{"gradients", {"."}}, {"weights", {"."}}, {"losses", {"."}}};
    if (rule == "LossNotDecreasing" || rule == "WeightUpdateRatio")
      made.parameters["num_steps"] = std::to_string(1 + below(5));
    std::array<std::int64_t, 2> mode_steps = {0, 0};
    std::int64_t step = 0;
    for (int i = 0; i < 12; ++i) {
      const bool eval = below(4) == 0;
      step += 1 + below(3);
      std::int64_t& mode_step = mode_steps[eval ? 1 : 0];
      for (const std::string& worker : made.workers)
        made.steps.push_back({At(step, eval ? Mode::Eval : Mode::Train, mode_step),
                              worker,
                              {tensor("a"), tensor("b")}});
      mode_step += 1 + below(3);
    }
    return made;
  }

 private:
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  // Numbers whose squares add up exactly: a norm of a built-in rule and one of a value in Lua may
  // round otherwise in the last bit.
  double number() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr std::array kSpecial = {0.0, 1e-9, kInfinity, -kInfinity,
                                     std::numeric_limits<double>::quiet_NaN()};
    if (below(12) == 0) return kSpecial[static_cast<std::size_t>(below(kSpecial.size()))];
    return 1 + static_cast<double>(below(1000)) / 512;
  }
  SavedTensor tensor(const std::string& name) {
    if (below(12) == 0) return texts(name, {"1", "2"});
    std::vector<float> values(static_cast<std::size_t>(below(4) == 0 ? below(3) : 2));
    for (float& value : values) value = static_cast<float>(number());
    SavedTensor saved = raw_of(name, values);
    if (below(3) == 0) {
      saved.bytes.reset();
      if (below(2) == 0) saved.shape.reset();
      if (saved.elements == 0) saved.elements = 2;
      saved.shape.reset();
    }
    constexpr std::array kReductions = {"abs_mean", "l1", "mean", "min", "max",
                                        "abs_max",  "l2", "sum",  "prod"};
    for (const char* reduction : kReductions)
      if (below(4) == 0) saved.reductions.put(require_reduction(reduction), number());
    if (below(6) == 0) saved.counts = ValueCounts{below(2), below(2), 0, 0};
    return saved;
  }
  std::mt19937_64 random_;
};

TEST(LuaParity, holds_on_runs_of_which_anything_was_saved) {
  for (const std::string rule : kRules)
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const RuleCase rule_case = RandomRun(seed).make(rule);
      const MemoryRun run;
      rule_case.write(run);
      expect_same_lines(rule_case, run);
      ASSERT_FALSE(HasFailure()) << rule << ", seed " << seed;
    }
}

}  // namespace
}  // namespace cupel::testing
