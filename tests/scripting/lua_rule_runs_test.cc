// How often a file of rules in Lua is run, and which rule gets which run.
//
// Each run has a mark of its own: the order of keys that are tables is another one in each Lua
// state. So a test sees whether two things come from one run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// Makes `mark`; `calls` counts the calls of needs. The rules A and B report both.
constexpr const char* kMarked = R"lua(
local keys, mark, calls = {}, "mark", 0
for i = 1, 1000 do keys[{}] = i end
for _, i in pairs(keys) do
  mark = mark .. "_" .. i
  if #mark > 100 then break end
end
print("run")

local function rule(name)
  return cupel.rule {
    name = name,
    summary = mark,
    params = { x = 0 },
    needs = function(params)
      calls = calls + 1
      return { steps = calls }
    end,
    invoke_at_step = function(self)
      self:issue { tensor = mark, value = calls }
    end,
  }
end

return rule("A"), rule("B")
)lua";

// What a rule of kMarked knows of its run.
struct Seen {
  std::string mark;
  double calls = 0;
};

Seen seen_by(Rule& rule, const Trial& trial) {
  const Finding finding =
      RuleEvaluation(rule).at_step(0, RunFollower(trial).snapshot()).findings().at(0);
  return {finding.tensor, finding.value};
}

class LuaRuleRuns : public ::testing::Test {
 protected:
  std::unique_ptr<Rule> make(const char* name, const RuleParameters& given = {}) {
    return rule_of(file_, name)->make(trial_, given);
  }
  Seen seen(Rule& rule) { return seen_by(rule, trial_); }
  std::string mark_of_reading() const { return file_.definitions.at(0)->summary; }
  Lines printed() const {
    Lines lines;
    for (const auto& [level, line] : log_.lines())
      if (line.find("run") != std::string::npos) lines.push_back(line);
    return lines;
  }

  const LogCapture log_;
  const MemoryRun run_ = losses(1);
  Trial trial_ = run_.open();
  const RuleFiles files_;
  const RuleFile file_ = files_.read(kMarked);
};

TEST_F(LuaRuleRuns, one_rule_judges_in_the_run_that_read_the_file) {
  const auto rule = make("A");
  EXPECT_EQ(seen(*rule).mark, mark_of_reading());
  EXPECT_THAT(printed(), ElementsAre(EndsWith("A: run")));
}

TEST_F(LuaRuleRuns, two_rules_of_a_file_have_a_run_each) {
  const auto a = make("A");
  const auto b = make("B");
  EXPECT_EQ(seen(*a).mark, mark_of_reading());
  EXPECT_NE(seen(*b).mark, mark_of_reading());
  EXPECT_THAT(printed(), ElementsAre(EndsWith("A: run"), EndsWith("B: run")));
}

TEST_F(LuaRuleRuns, a_file_of_which_no_rule_judges_prints_nothing) {
  rule_of(file_, "A")->needs();
  EXPECT_THAT(printed(), IsEmpty());
}

TEST_F(LuaRuleRuns, needs_are_computed_in_the_run_that_the_first_rule_gets) {
  const auto definition = rule_of(file_, "A");
  const auto steps = [&](const char* x) {
    return definition->needs({{"x", x}}).tensors.at(0).steps.value;
  };
  EXPECT_EQ(steps("1"), 1);
  EXPECT_EQ(steps("2"), 2);
  EXPECT_EQ(steps("1"), 1) << "they are remembered";
  const auto first = make("A", {{"x", "3"}});
  EXPECT_EQ(seen(*first).calls, 3);
  EXPECT_EQ(seen(*first).mark, mark_of_reading());
  EXPECT_EQ(steps("2"), 2) << "they are remembered without the state";
  EXPECT_EQ(steps("4"), 1) << "this takes another run,";
  const auto second = make("A", {{"x", "5"}});
  EXPECT_EQ(seen(*second).calls, 2) << "which the second rule gets";
}

TEST_F(LuaRuleRuns, the_needs_of_two_rules_are_known_apart) {
  EXPECT_EQ(rule_of(file_, "A")->needs().tensors.at(0).steps.value, 1);
  EXPECT_EQ(rule_of(file_, "B")->needs().tensors.at(0).steps.value, 2);
}

TEST_F(LuaRuleRuns, copies_of_a_definition_share_the_run_and_outlive_the_file) {
  RuleDefinition copy = *rule_of(files_.read(kMarked), "A");
  const RuleDefinition another = copy;
  const auto first = copy.make(trial_);
  EXPECT_EQ(seen(*first).mark, copy.summary);
  EXPECT_NE(seen(*another.make(trial_)).mark, copy.summary);
}

TEST_F(LuaRuleRuns, of_many_threads_one_gets_the_run_that_read_the_file) {
  constexpr std::size_t kThreads = 4;
  std::vector<std::string> marks(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        Trial trial = run_.open();
        const auto rule = rule_of(file_, i % 2 == 0 ? "A" : "B")->make(trial);
        marks[i] = seen_by(*rule, trial).mark;
      });
  }
  EXPECT_EQ(std::ranges::count(marks, mark_of_reading()), 1);
  std::ranges::sort(marks);
  EXPECT_EQ(std::ranges::unique(marks).size(), 0U);
}

TEST_F(LuaRuleRuns, a_rule_that_cannot_be_made_leaves_the_file_as_it_was) {
  const auto definition = files_.rule(
      "return cupel.rule { name = 'R', params = { x = 1 }, invoke_at_step = function() end, "
      "needs = function(p) if p.x > 1 then error('too large') end return {} end }");
  EXPECT_THAT(error_of([&] { definition->make(trial_, {{"x", "2"}}); }), HasSubstr("too large"));
  EXPECT_EQ(error_of([&] { definition->make(trial_); }), "");
}

TEST_F(LuaRuleRuns, a_file_with_other_rules_at_each_run_is_refused) {
  const auto definition = files_.rule(
      "local keys, name = {}, 'R'\n"
      "for i = 1, 1000 do keys[{}] = i end\n"
      "for _, i in pairs(keys) do name = name .. i if #name > 50 then break end end\n"
      "return cupel.rule { name = name, invoke_at_step = function() end }");
  const auto first = definition->make(trial_);
  EXPECT_THAT(error_of([&] { definition->make(trial_); }),
              HasSubstr("its rules are others at each run"));
}

TEST_F(LuaRuleRuns, a_run_made_for_one_rule_is_checked_before_another_takes_it) {
  // Whether the file has its second rule follows from addresses: it differs from run to run.
  const RuleFile file = files_.read(
      "local keys, first = {}, nil\n"
      "for i = 1, 64 do keys[{}] = i end\n"
      "for _, i in pairs(keys) do first = first or i end\n"
      "local function nothing() end\n"
      "local function needs() return {} end\n"
      "local a = cupel.rule { name = 'A', needs = needs, invoke_at_step = nothing }\n"
      "local b = cupel.rule { name = first % 2 == 0 and 'B' or 'C', needs = needs,\n"
      "  invoke_at_step = nothing }\n"
      "return a, b");
  ASSERT_EQ(file.definitions.size(), 2U);
  for (int i = 0; i < 100; ++i) {
    const auto a = file.definitions[0]->make(trial_);
    try {
      const auto b = file.definitions[1]->make(trial_);
      EXPECT_EQ(b->rule_name(), file.definitions[1]->name);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("its rules are others at each run"));
      return;
    }
  }
  FAIL() << "all runs of the file have the same rules";
}

// ---- what is printed, and random numbers ----

TEST_F(LuaRuleRuns, lines_that_a_file_prints_are_kept_up_to_a_hundred) {
  const auto definition = files_.rule("for i = 1, 150 do print('run ' .. i) end\n" +
                                      rule_text("print('run at step', step)"));
  EXPECT_THAT(printed(), IsEmpty());
  const auto rule = definition->make(trial_);
  EXPECT_THAT(printed(), SizeIs(100));
  EXPECT_THAT(printed(), Each(HasSubstr("R: run ")));
  EXPECT_THAT(log_.lines(), Contains(Pair(LogLevel::Warning, EndsWith("R: and 50 more lines"))));
  RuleEvaluation(*rule).at_step(0, RunFollower(trial_).snapshot());
  EXPECT_THAT(printed().back(), EndsWith("R: run at step 0"));
}

TEST_F(LuaRuleRuns, random_numbers_are_the_same_in_the_first_run_and_in_others) {
  const auto definition = files_.rule(
      "local at_first = math.random()\n" +
      rule_text("self:issue { tensor = 'x', value = math.random(), threshold = at_first }",
                "needs = function() return { steps = math.random(1, 9) } end"));
  definition->needs();
  std::vector<std::pair<double, double>> drawn;
  for (int i = 0; i < 3; ++i) {
    const auto rule = definition->make(trial_);
    const Finding finding =
        RuleEvaluation(*rule).at_step(0, RunFollower(trial_).snapshot()).findings().at(0);
    drawn.emplace_back(finding.value, finding.threshold);
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_EQ(drawn[1], drawn[2]);
}

}  // namespace
}  // namespace cupel::testing
