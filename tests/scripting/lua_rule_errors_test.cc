// How a rule in Lua fails: its own mistakes, and what queries of a run fail with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(LuaRuleErrors, an_error_has_its_place_and_what_was_judged) {
  JudgedRule rule(losses(3),
                  "return cupel.rule {\n  name = 'R',\n"
                  "  invoke_at_step = function(self, trial, step)\n"
                  "    local t = trial:tensor('loss')\n"
                  "    if step == 2 then t.x = nil + 1 end\n  end }");
  EXPECT_EQ(rule.error(0), "");
  EXPECT_EQ(
      rule.error(2),
      "rule.lua:5: attempt to perform arithmetic on a nil value, in \"if step == 2 then t.x = "
      "nil + 1 end\", at step 2, looking at loss");
}

TEST(LuaRuleErrors, an_error_in_a_module_has_its_own_line) {
  const RuleFiles files;
  files.write("sums.lua",
              "local sums = {}\nfunction sums.add(a, b)\n  return a + b\nend\n"
              "return sums");
  const MemoryRun run = losses(1);
  Trial trial = run.open();
  const auto rule =
      files.rule("local sums = require 'sums'\n" + rule_text("sums.add(1, {})"))->make(trial);
  try {
    RuleEvaluation(*rule).at_step(0, RunFollower(trial).snapshot());
    FAIL() << "no error";
  } catch (const ScriptError& error) {
    EXPECT_EQ(error.chunk, "sums.lua");
    EXPECT_EQ(error.line, 3);
    EXPECT_THAT(error.problem, HasSubstr("in \"return a + b\", at step 0"));
    EXPECT_THAT(error.traceback, HasSubstr("rule.lua:2"));
  }
}

TEST(LuaRuleErrors, an_error_that_is_no_text_is_reported_with_its_type) {
  EXPECT_THAT(mistake("error { code = 5 }"), HasSubstr("the error is no text but a table"));
  EXPECT_THAT(mistake("error()"), HasSubstr("the error is no text but a nil"));
}

TEST(LuaRuleErrors, a_module_cannot_be_required_while_a_step_is_judged) {
  EXPECT_THAT(mistake("require 'late'"),
              HasSubstr("the module late was not required while the file was read"));
}

TEST(LuaRuleErrors, globals_that_are_new_or_misspelt_are_refused_before_a_step_is_judged) {
  EXPECT_THAT(mistake_in(rule_text("count = 1")),
              HasSubstr("count is a new global; write local before it, or keep it in self"));
  EXPECT_THAT(mistake_in(rule_text("local x = tostrng(1)")),
              AllOf(StartsWith("rule.lua:1: there is no global tostrng, in"),
                    EndsWith("; did you mean tostring?")));
}

TEST(LuaRuleErrors, globals_that_only_show_while_a_step_is_judged_are_refused_there) {
  EXPECT_THAT(mistake("_G['count'] = 1"), HasSubstr("count is a new global"));
  EXPECT_THAT(mistake("local x = _G['pirs']"), HasSubstr("there is no global pirs"));
}

TEST(LuaRuleErrors, others_go_on_when_one_ends_with_an_error) {
  const MemoryRun run = losses(3);
  Trial trial = run.open();
  const RuleFiles files;
  const RuleFile file = files.read(
      "return { cupel.rule { name = 'Bad', invoke_at_step = function(self, trial, step) "
      "if step == 1 then error('broken') end end },\n"
      "cupel.rule { name = 'Good', invoke_at_step = function(self) "
      "self:issue { tensor = 'loss', value = 1 } end } }");
  RuleRunner runner(trial, {.wait = false});
  runner.add(rule_of(file, "Bad")->make(trial));
  runner.add(rule_of(file, "Good")->make(trial));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines,
              ElementsAre("0 Good IssuesFound", "1 Good IssuesFound", "2 Good IssuesFound",
                          "end Bad Error", "end Good IssuesFound"));
  EXPECT_THAT(result.summary.rules.at(0).message,
              HasSubstr("rule.lua:1: broken, in \"return { cupel.rule { name = 'Bad'"));
}

// ---- errors of queries ----

// The kind that a query fails with, and whether pcall keeps it.
std::string caught(const MemoryRun& run, const std::string& query, std::int64_t step = 0) {
  return answer(run,
                "local ok, e = pcall(function() return " + query +
                    " end) return say(ok, e.kind, e.tensor, e.step, e.worker)",
                step);
}

MemoryRun sparse() {
  MemoryRun run;
  run.worker()
      .save(0, {scalar("loss", 1), raw("w", {1, 2}), reduced("r", "mean", 1)})
      .save(4, {scalar("loss", 1)})
      .finish();
  return run;
}

TEST(LuaRuleErrors, what_a_query_fails_with_can_be_caught_and_has_a_kind) {
  const MemoryRun run = sparse();
  EXPECT_EQ(caught(run, "trial:tensor('absent')"), "false TensorUnavailable absent");
  EXPECT_EQ(caught(run, "trial:tensor('w'):value(4)", 4), "false TensorUnavailableForStep w 4");
  EXPECT_EQ(caught(run, "trial:tensor('r'):value(0)"), "false TensorUnavailableForStep r 0");
  EXPECT_EQ(caught(run, "trial:tensor('r'):shape(0)"), "false ShapeUnavailableForStep r 0");
  EXPECT_EQ(answer(run,
                   "local ok, e = pcall(function() return trial:tensor('w'):value(2) end) "
                   "return say(ok, e.kind, e.step)",
                   4),
            "false StepUnavailable 2");
  EXPECT_EQ(answer(run,
                   "local ok, e = pcall(function() return trial:tensor('w'):value(4) end) "
                   "return say(ok, e.kind, e.step)",
                   0),
            "false StepNotYetAvailable 4");
  EXPECT_EQ(answer(run,
                   "local ok, e = pcall(function() return trial:tensor('w'):value(0, "
                   "{ worker = 'nobody' }) end) return say(ok, e.kind, e.worker)"),
            "false InvalidWorker nobody");
}

TEST(LuaRuleErrors, an_error_of_a_query_reads_as_its_message_with_the_place) {
  EXPECT_EQ(answer(sparse(),
                   "local ok, e = pcall(function() return trial:tensor('absent') end) "
                   "return say(tostring(e) == 'rule.lua:1: ' .. e.message, e.message:sub(1, 10), "
                   "e.colour)"),
            "true The tensor");
}

TEST(LuaRuleErrors, mistakes_in_a_query_are_texts) {
  EXPECT_EQ(answer(sparse(),
                   "local ok, e = pcall(function() return trial:steps('TRIAN') end) "
                   "return say(ok, type(e))"),
            "false string");
}

TEST(LuaRuleErrors, damage_in_a_value_can_be_caught_and_has_a_kind) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.save(0, {filled("w", 100, 1)});
  flip_bit(*run.store, writer.events_key(), writer.last_location().offset + 8);
  writer.finish();
  EXPECT_EQ(answer(run,
                   "local ok, e = pcall(function() return trial:tensor('w'):value(0) end) "
                   "return say(ok, e.kind)"),
            "false FormatError");
  EXPECT_THAT(JudgedRule(run, rule_text("error('again')")).error(0), HasSubstr("again"));
}

TEST(LuaRuleErrors, damage_in_a_value_skips_as_in_a_rule_in_cpp) {
  const LogCapture log;
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.put_after(3);
  std::vector<std::uint64_t> offsets;
  for (const std::int64_t step : {0, 1, 2}) {
    writer.save(step, {filled("v", 100, 1), filled("w", 100, 1)});
    offsets.push_back(writer.last_location().offset);
  }
  writer.finish();
  flip_bit(*run.store, writer.events_key(), offsets[1]);
  const RuleFiles files;
  const auto lines = [&](const std::function<std::unique_ptr<Rule>(Trial&)>& make) {
    Trial trial = run.open();
    RuleRunner runner(trial, {.wait = false});
    runner.add(make(trial));
    return run_all(runner).timeless_lines;
  };
  const auto in_lua = [&](const std::string& body) {
    const auto rule = files.rule(rule_text(body));
    return lines([&](Trial& trial) { return rule->make(trial); });
  };
  const Lines whole_step = in_lua(
      "trial:tensor('w'):value(step) "
      "self:issue { tensor = 'v', value = 1, threshold = 0, message = 'read' }");
  EXPECT_EQ(whole_step, lines([](Trial& trial) {
              return written(
                  trial,
                  [](Trial& base, std::int64_t step) {
                    static_cast<void>(base.tensor("w").value(step));
                    Verdict verdict;
                    verdict.count(1);
                    verdict.add({.tensor = "v", .value = 1, .threshold = 0, .message = "read"});
                    return verdict;
                  },
                  "R");
            }));
  EXPECT_THAT(whole_step.back(), HasSubstr("1 step with damaged values"));
  const Lines one_tensor = in_lua(
      "for name, worker, mean in trial:each { step = step, regex = '^[vw]$', "
      "reductions = { 'mean' } } do "
      "self:issue { tensor = name, worker = worker, value = mean, threshold = 0 } end");
  EXPECT_THAT(one_tensor, SizeIs(4)) << "'v' is judged at the damaged step, too";
  EXPECT_THAT(one_tensor.back(), HasSubstr("1 step with damaged values, the first at step 1: w: "));
}

TEST(LuaRuleErrors, three_kinds_pass_over_the_step_and_others_end_the_rule) {
  const MemoryRun run = sparse();
  const auto lines = [&](const std::string& body) {
    Trial trial = run.open();
    const RuleFiles files;
    RuleRunner runner(trial, {.wait = false});
    runner.add(files.rule(rule_text(body))->make(trial));
    const RuleSummary summary = run_all(runner).summary.rules.at(0);
    return std::string(to_string(summary.status)) + " " + std::to_string(summary.steps_evaluated) +
           " " + std::to_string(summary.steps_skipped);
  };
  EXPECT_EQ(lines("trial:tensor('absent')"), "NothingSeen 2 2");
  EXPECT_EQ(lines("trial:tensor('w'):value(step)"), "NoIssuesFound 2 1");
  EXPECT_EQ(lines("trial:tensor('loss'):value(step // 2)"), "NoIssuesFound 2 1");
  EXPECT_EQ(lines("trial:tensor('loss'):value(step + 4)"), "Error 0 0");
  EXPECT_EQ(lines("trial:tensor('loss'):value(step, { worker = 'x' })"), "Error 0 0");
}

TEST(LuaRuleErrors, a_method_of_self_that_is_called_without_it_is_reported) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"self.issue { tensor = 'loss', value = 1 }", "write self:issue{...}, with a colon"},
      {"self.skip { tensor = 'loss', reason = 'odd' }", "write self:skip{...}, with a colon"},
      {"self.explain { tensor = 'loss' }", "write self:explain{...}, with a colon"},
      {"self.not_applicable('odd')", "write self:not_applicable(...), with a colon"},
      {"self.ask_again('later')", "write self:ask_again(...), with a colon"},
      {"self.end_rule()", "write self:end_rule(), with a colon"},
      {"self.saw_nan()", "write self:saw_nan(), with a colon"},
      {"local x = self.explaining()", "write self:explaining(), with a colon"},
      {"self.issue(trial, { tensor = 'loss', value = 1 })", "write self:issue{...}"},
  };
  for (const auto& [body, text] : cases) EXPECT_THAT(mistake(body), HasSubstr(text)) << body;
  EXPECT_EQ(mistake("self.issue(self, { tensor = 'loss', value = 1 })"), "");
}

TEST(LuaRuleErrors, a_misspelt_tensor_is_reported_with_those_that_may_be_meant) {
  JudgedRule rule(sparse(), rule_text("trial:tensor('lsos'):value(step)"));
  EXPECT_EQ(rule.error(0), "The tensor has not been saved so far: tensor lsos; did you mean loss?");
  EXPECT_THROW(rule.verdict(4), TensorUnavailable);
  EXPECT_EQ(JudgedRule(sparse(), rule_text("trial:tensor('nothing like it')")).error(0),
            "The tensor has not been saved so far: tensor nothing like it");
}

TEST(LuaRuleErrors, a_misspelt_tensor_that_is_caught_has_it_in_its_message) {
  const std::string body =
      "local ok, e = pcall(function() return trial:tensor('lsos') end) return say(e.message, e)";
  const std::string message =
      "The tensor has not been saved so far: tensor lsos; did you mean loss?";
  EXPECT_EQ(answer(sparse(), body), message + " rule.lua:1: " + message);
}

TEST(LuaRuleErrors, a_tensor_that_is_saved_later_is_not_proposed) {
  MemoryRun run;
  run.worker().save(0, {scalar("loss", 1)}).save(1, {scalar("weight", 1)}).finish();
  JudgedRule rule(run, rule_text("trial:tensor('wieght')"));
  EXPECT_THAT(rule.error(0), Not(HasSubstr("did you mean")));
  EXPECT_THAT(rule.error(1), HasSubstr("; did you mean weight?"));
  // As in a run that was set back.
  EXPECT_THAT(rule.error(0), Not(HasSubstr("did you mean")));
}

// ---- needs ----

LoadedRules loaded(const std::string& spec, const ScriptLimits& limits = {}) {
  return load_rules({.specs = {spec}}, builtin_rules(), {lua_rule_reader(limits)});
}

TEST(LuaRuleErrors, of_needs_have_their_place) {
  const RuleFiles files;
  const std::string path = files.write(
      "rule.lua",
      "return cupel.rule { name = 'N', params = { x = 1 },\n"
      "  needs = function(p)\n    if p.x == 1 then error('boom') end\n"
      "    if p.x == 2 then while true do end end\n    return { reductions = 'meen' } end,\n"
      "  invoke_at_step = function() end }");
  const auto error = [&](const std::string& x) {
    const LoadedRules rules = loaded(path + ",x=" + x, {.instructions = 100'000});
    EXPECT_EQ(rules.errors.size(), 1U);
    return rules.errors.empty() ? "" : problem_text(rules.errors[0]);
  };
  EXPECT_EQ(error("1"), "rule.lua:3: boom, in \"if p.x == 1 then error('boom') end\"");
  EXPECT_EQ(error("2"),
            "rule.lua:4: the limit of 100000 instructions is reached, in \"if p.x == 2 then while "
            "true do end end\"");
  EXPECT_THAT(error("3"), ::testing::StartsWith("rule.lua:2: N: needs: reductions: "));
}

TEST(LuaRuleErrors, of_a_file_that_cannot_be_read_are_known_as_such) {
  EXPECT_FALSE(read_lua_rules("/nowhere/rule.lua").is_readable);
  EXPECT_TRUE(RuleFiles().read("nonsense").is_readable);
}

TEST(LuaRuleErrors, are_none_where_a_text_is_a_number) {
  JudgedRule rule(losses(1), rule_text("self:issue { tensor = cupel.text('0x10'), value = 1, "
                                       "message = cupel.comparison('3', '<', ' 4 ') }"));
  const Finding finding = rule.verdict(0).findings().at(0);
  EXPECT_EQ(finding.tensor, "16");
  EXPECT_EQ(finding.message, "3 < 4");
}

}  // namespace
}  // namespace cupel::testing
