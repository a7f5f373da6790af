// How often a file of rules in Lua is run, and which rule gets which run.
//
// The mark of a run is the order of keys that are tables, which differs from run to run with luck
// only. So a test finds that two things come from one run by marks that are the same, and that they
// come from two runs by a count that both began.

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

// Makes `mark`. The rules A and B report it, with the number of their steps in this run.
constexpr const char* kMarked = R"lua(
local keys, mark, steps = {}, "mark", 0
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
    invoke_at_step = function(self)
      steps = steps + 1
      self:issue { tensor = mark, value = steps }
    end,
  }
end

return rule("A"), rule("B")
)lua";

// Reports for which parameters needs() was called in its state, and how its own are.
constexpr const char* kNeedy = R"lua(
local asked = "needs of"
print("run")
return cupel.rule {
  name = "R",
  params = { x = 0 },
  needs = function(params)
    asked = asked .. " " .. params.x
    return {}
  end,
  invoke_at_step = function(self)
    self:issue { tensor = asked, value = self.params.x }
  end,
}
)lua";

// Needs that are others at each call.
constexpr const char* kRandomNeeds =
    "return cupel.rule { name = 'R', invoke_at_step = function() end,\n"
    "  needs = function() return { steps = math.random(1, 1000000000) } end }";

Finding finding_of(Rule& rule, const Trial& trial) {
  return RuleEvaluation(rule).at_step(0, RunFollower(trial).snapshot()).findings().at(0);
}

class LuaRuleRuns : public ::testing::Test {
 protected:
  std::unique_ptr<Rule> make(const char* name, const RuleParameters& given = {}) {
    return rule_of(file_, name)->make(trial_, given);
  }
  Finding found(Rule& rule) { return finding_of(rule, trial_); }
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
  EXPECT_EQ(found(*rule).tensor, mark_of_reading());
  EXPECT_THAT(printed(), ElementsAre(EndsWith("A: run")));
}

TEST_F(LuaRuleRuns, two_rules_of_a_file_have_a_run_each) {
  const auto a = make("A");
  const auto b = make("B");
  EXPECT_EQ(found(*a).tensor, mark_of_reading());
  EXPECT_EQ(found(*b).value, 1) << "the step of the other one is not counted";
  EXPECT_THAT(printed(), ElementsAre(EndsWith("A: run"), EndsWith("B: run")));
}

TEST_F(LuaRuleRuns, a_file_of_which_no_rule_judges_prints_nothing) {
  rule_of(files_.read(kNeedy))->needs();
  EXPECT_THAT(printed(), IsEmpty());
}

TEST_F(LuaRuleRuns, each_rule_judges_in_a_run_that_computed_its_own_needs_once) {
  const RuleFile file = files_.read(kNeedy);
  const auto definition = rule_of(file);
  for (const char* const x : {"1", "2", "1"}) definition->needs({{"x", x}});
  for (const char* const x : {"2", "1", "1", "3"}) {
    const auto rule = definition->make(trial_, {{"x", x}});
    const Finding found = finding_of(*rule, trial_);
    EXPECT_EQ(found.tensor, std::string("needs of ") + x);
    EXPECT_EQ(found.value, std::stod(x));
  }
  EXPECT_THAT(printed(), SizeIs(4)) << "a run for each rule";
}

TEST_F(LuaRuleRuns, a_rule_gets_no_run_in_which_the_needs_of_another_were_computed) {
  const RuleFile file = files_.read(
      "local asked = 'none'\n"
      "local function rule(name, needs) return cupel.rule { name = name, needs = needs,\n"
      "  invoke_at_step = function(self) self:issue { tensor = asked, value = 1 } end } end\n"
      "return rule('A', function() asked = 'A' return {} end), rule('B')");
  rule_of(file, "A")->needs();
  EXPECT_EQ(finding_of(*rule_of(file, "B")->make(trial_), trial_).tensor, "none");
  EXPECT_EQ(finding_of(*rule_of(file, "A")->make(trial_), trial_).tensor, "A");
}

TEST_F(LuaRuleRuns, needs_are_remembered) {
  const auto definition = rule_of(files_.read(kRandomNeeds));
  const auto needs = definition->needs();
  EXPECT_EQ(describe(definition->needs()), describe(needs));
  definition->make(trial_);
  EXPECT_EQ(describe(definition->needs()), describe(needs)) << "also without the run";
}

TEST_F(LuaRuleRuns, of_which_the_needs_failed_are_given_to_no_rule) {
  const auto definition = files_.rule(
      "local failed = 0\n"
      "return cupel.rule { name = 'R', params = { x = 1 },\n"
      "  invoke_at_step = function(self) self:issue { tensor = 't', value = failed } end,\n"
      "  needs = function(p) if p.x > 1 then failed = 1 error('too large') end return {} end }");
  EXPECT_THAT(error_of([&] { definition->needs({{"x", "2"}}); }), HasSubstr("too large"));
  EXPECT_EQ(finding_of(*definition->make(trial_), trial_).value, 0);
}

TEST_F(LuaRuleRuns, the_needs_of_two_rules_are_known_apart) {
  const RuleFile file = files_.read(
      "local function rule(name, steps) return cupel.rule { name = name,\n"
      "  invoke_at_step = function() end, needs = function() return { steps = steps } end } end\n"
      "return rule('A', 1), rule('B', 2)");
  EXPECT_EQ(rule_of(file, "A")->needs().tensors.at(0).steps.value, 1);
  EXPECT_EQ(rule_of(file, "B")->needs().tensors.at(0).steps.value, 2);
}

TEST_F(LuaRuleRuns, copies_of_a_definition_share_the_run_and_outlive_the_file) {
  RuleDefinition copy = *rule_of(files_.read(kMarked), "A");
  const RuleDefinition another = copy;
  const auto first = copy.make(trial_);
  EXPECT_EQ(found(*first).tensor, copy.summary);
  EXPECT_EQ(found(*another.make(trial_)).value, 1) << "the run was taken";
}

TEST_F(LuaRuleRuns, of_many_threads_one_gets_the_run_that_read_the_file) {
  constexpr std::size_t kThreads = 4;
  std::vector<Finding> findings(kThreads);
  std::vector<std::unique_ptr<Rule>> rules(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        Trial trial = run_.open();
        rules[i] = rule_of(file_, i % 2 == 0 ? "A" : "B")->make(trial);
        findings[i] = finding_of(*rules[i], trial);
      });
  }
  EXPECT_GE(std::ranges::count(findings, mark_of_reading(), &Finding::tensor), 1);
  for (const Finding& finding : findings) EXPECT_EQ(finding.value, 1);
}

TEST_F(LuaRuleRuns, a_rule_that_cannot_be_made_leaves_the_file_as_it_was) {
  const auto definition = files_.rule(
      "return cupel.rule { name = 'R', params = { x = 1 }, invoke_at_step = function() end, "
      "needs = function(p) if p.x > 1 then error('too large') end return {} end }");
  EXPECT_THAT(error_of([&] { definition->make(trial_, {{"x", "2"}}); }), HasSubstr("too large"));
  EXPECT_EQ(error_of([&] { definition->make(trial_); }), "");
}

// Makes rules of a file in turn, and keeps them, so that each run has tables at other addresses.
// Returns the first error.
std::string error_of_many(const RuleFile& file, Trial& trial) {
  std::vector<std::unique_ptr<Rule>> rules;
  return error_of([&] {
    for (int i = 0; i < 200; ++i)
      for (const auto& definition : file.definitions) {
        rules.push_back(definition->make(trial));
        EXPECT_EQ(rules.back()->rule_name(), definition->name);
      }
  });
}

TEST_F(LuaRuleRuns, a_file_with_other_rules_at_each_run_is_refused) {
  const RuleFile file = files_.read(
      "local keys, name = {}, 'R'\n"
      "for i = 1, 1000 do keys[{}] = i end\n"
      "for _, i in pairs(keys) do name = name .. i if #name > 50 then break end end\n"
      "return cupel.rule { name = name, invoke_at_step = function() end }");
  EXPECT_THAT(error_of_many(file, trial_), HasSubstr("its rules are others at each run"));
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
  EXPECT_THAT(error_of_many(file, trial_), HasSubstr("its rules are others at each run"));
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

TEST_F(LuaRuleRuns, lines_of_needs_are_kept_beside_those_of_the_file) {
  const auto definition = files_.rule(
      "for i = 1, 150 do print('run ' .. i) end\n" +
      rule_text("", "needs = function() for i = 1, 110 do print('run needs') end return {} end"));
  const auto rule = definition->make(trial_);
  EXPECT_THAT(printed(), SizeIs(200));
  EXPECT_THAT(printed().back(), EndsWith("R: run needs"));
  EXPECT_THAT(log_.lines(), Contains(Pair(LogLevel::Warning, EndsWith("R: and 50 more lines"))));
  EXPECT_THAT(log_.lines(), Contains(Pair(LogLevel::Warning, EndsWith("R: and 10 more lines"))));
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
