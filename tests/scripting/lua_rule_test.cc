// What a rule in Lua may report and do while it judges.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Lines said(const std::string& body) { return describe(judged(body)); }

// ---- self:issue and the like ----

TEST(LuaRule, an_issue_is_a_finding) {
  EXPECT_THAT(said("self:issue { tensor = 'loss', worker = 'worker_0', value = 3, threshold = 2, "
                   "message = 'too large' }"),
              ElementsAre("fires loss worker_0 3 vs 2: too large"));
}

TEST(LuaRule, an_issue_without_worker_is_of_the_first_one_that_saved_the_tensor) {
  MemoryRun run;
  run.worker({.worker = "worker_10", .num_workers = 2}).save(0, {scalar("loss", 1)}).close();
  run.worker({.worker = "worker_2", .num_workers = 2}).save(0, {scalar("loss", 1)}).finish();
  EXPECT_THAT(JudgedRule(run, rule_text("self:issue { tensor = 'loss', value = 1 }")).at(0),
              ElementsAre("fires loss worker_2 1 vs NaN: value 1"));
}

TEST(LuaRule, an_issue_without_message_shows_its_numbers) {
  EXPECT_THAT(
      said("self:issue { tensor = 'a', value = 1.5 } "
           "self:issue { tensor = 'b', value = 1.5, threshold = 1 }"),
      ElementsAre("fires a  1.5 vs NaN: value 1.5", "fires b  1.5 vs 1: value 1.5, threshold 1"));
}

TEST(LuaRule, an_issue_with_a_message_needs_no_value) {
  EXPECT_THAT(said("self:issue { tensor = 'loss', message = 'odd' }"),
              ElementsAre("fires loss worker_0 NaN vs NaN: odd"));
  EXPECT_FALSE(judged("self:issue { tensor = 'loss', message = 'odd' }").nan_seen());
}

TEST(LuaRule, mistakes_in_an_issue_are_reported) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"self:issue()", "issue: tensor is not given"},
      {"self:issue {}", "issue: tensor is not given"},
      {"self:issue { value = 1 }", "issue: tensor is not given"},
      {"self:issue { tensor = '', value = 1 }", "issue: tensor is empty"},
      {"self:issue { tensor = 5, value = 1 }", "issue: tensor is a number, not a text"},
      {"self:issue { tensor = 'a' }", "issue: value is not given"},
      {"self:issue { tensor = 'a', message = '' }", "issue: value is not given"},
      {"self:issue { tensor = 'a', value = 'x' }", "issue: value is a string, not a number"},
      {"self:issue { tensor = 'a', value = 1, treshold = 2 }",
       "issue does not know treshold; did you mean threshold?"},
      {"self:issue('a')", "issue takes a table of named arguments, not a string"},
      {"self:skip { tensor = 'a' }", "skip: reason is not given"},
      {"self:skip { reason = 'a' }", "skip: tensor is not given"},
      {"self:not_applicable()", "not_applicable: reason is not given"},
      {"self:explain {}", "explain: tensor is not given"},
      {"self:isue {}", "attempt to call a nil value (method 'isue')"},
  };
  for (const auto& [body, text] : cases) EXPECT_THAT(mistake(body), HasSubstr(text)) << body;
}

TEST(LuaRule, an_issue_may_be_repeated) {
  const Verdict verdict =
      judged("for i = 1, 1005 do self:issue { tensor = 'loss', value = i } end");
  EXPECT_EQ(verdict.findings().size(), Verdict::kMaxFindings);
  EXPECT_EQ(verdict.findings_beyond(), 5);
}

TEST(LuaRule, what_was_read_and_only_remembered_does_not_count_as_judged) {
  const Verdict verdict = judged("trial:tensor('loss'):value(step) self:only_remembered()");
  EXPECT_EQ(verdict.datapoints(), 0);
  EXPECT_EQ(verdict.remembered(), 1);
  EXPECT_TRUE(verdict.applicable());
}

TEST(LuaRule, a_skip_has_its_reason) {
  EXPECT_THAT(said("self:skip { tensor = 'loss', worker = 'worker_0', reason = 'too odd' }"),
              ElementsAre("skips loss worker_0: too odd"));
}

TEST(LuaRule, what_was_read_of_a_tensor_that_is_then_skipped_does_not_count) {
  EXPECT_EQ(judged("trial:tensor('loss'):value(step)").datapoints(), 1);
  EXPECT_EQ(judged("trial:tensor('loss'):value(step) "
                   "self:skip { tensor = 'loss', reason = 'too odd' }")
                .datapoints(),
            0);
}

TEST(LuaRule, says_that_a_step_is_none_of_its_business) {
  EXPECT_THAT(said("self:not_applicable('another day')"),
              ElementsAre("not applicable: another day"));
}

TEST(LuaRule, may_ask_to_be_asked_again) {
  EXPECT_EQ(judged("self:ask_again('the other run is late')").why_to_ask_again(),
            "the other run is late");
}

TEST(LuaRule, may_end_itself) { EXPECT_TRUE(judged("self:end_rule()").ends_rule()); }

TEST(LuaRule, says_when_it_met_nan) {
  EXPECT_TRUE(judged("self:saw_nan()").nan_seen());
  EXPECT_FALSE(judged("").nan_seen());
}

TEST(LuaRule, true_without_an_issue_is_refused_with_what_to_write_instead) {
  EXPECT_THAT(mistake("return true"),
              HasSubstr("invoke_at_step returned true and found nothing: findings are recorded by "
                        "self:issue{tensor = ..., value = ...}"));
  EXPECT_THAT(said("self:issue { tensor = 'loss', value = 1 } return true"),
              ElementsAre("fires loss worker_0 1 vs NaN: value 1"));
}

TEST(LuaRule, a_step_of_which_it_read_nothing_is_not_judged) {
  EXPECT_THAT(said(""), ElementsAre("not applicable: the rule read nothing of this step"));
  EXPECT_THAT(said("trial:tensor('loss'):value(step)"), IsEmpty());
}

TEST(LuaRule, a_step_without_what_it_needs_is_reported_in_the_words_of_built_in_rules) {
  EXPECT_THAT(describe(judged("", "needs = { collections = 'gradients', reductions = 'mean' }")),
              ElementsAre("not applicable: nothing of the collection gradients was saved at this "
                          "step"));
  EXPECT_THAT(describe(judged("", "needs = { { patterns = 'x' }, { patterns = 'loss' } }")),
              ElementsAre("not applicable: the rule read nothing of this step"));
}

TEST(LuaRule, long_words_are_cut) {
  const Verdict verdict = judged("self:issue { tensor = 'loss', message = ('x'):rep(5000) }");
  EXPECT_EQ(verdict.findings().at(0).message.size(), 1000U);
}

TEST(LuaRule, any_bytes_in_words_come_out_as_json) {
  const MemoryRun run = losses(1);
  Trial trial = run.open();
  const RuleFiles files;
  RuleRunner runner(trial, {.wait = false});
  runner.add(files
                 .rule(rule_text("self:issue { tensor = 'a\\0\\xff\\x1b[2J', worker = '\\xc3', "
                                 "message = '\\0\\xfe' }"))
                 ->make(trial));
  const Result result = run_all(runner);
  EXPECT_THAT(to_json(result.verdicts.at(0)),
              HasSubstr("\"name\":\"a\\u0000\xEF\xBF\xBD\\u001b[2J\",\"worker\":\"\xEF\xBF\xBD\""));
  EXPECT_THAT(to_text(result.verdicts.at(0)), HasSubstr("a\\x00\\xff\\x1b[2J"));
}

// ---- state, and what is called when ----

TEST(LuaRule, what_it_keeps_in_self_is_there_at_the_next_step) {
  JudgedRule rule(losses(3), rule_text("self.sum = (self.sum or 0) + step "
                                       "self:issue { tensor = 'loss', value = self.sum }"));
  rule.verdict(0);
  rule.verdict(1);
  EXPECT_THAT(rule.at(2), ElementsAre("fires loss worker_0 3 vs NaN: value 3"));
}

TEST(LuaRule, two_made_of_one_file_keep_their_own) {
  const MemoryRun run = losses(2);
  Trial trial = run.open();
  const RuleFiles files;
  const auto rule =
      files.rule("local calls = 0\n" +
                 rule_text("calls = calls + 1 self:issue { tensor = 'loss', value = calls }"));
  const auto first = rule->make(trial);
  const auto second = rule->make(trial);
  RuleEvaluation(*first).at_step(0, RunFollower(trial).snapshot());
  EXPECT_EQ(
      RuleEvaluation(*second).at_step(1, RunFollower(trial).snapshot()).findings().at(0).value, 1);
  EXPECT_EQ(RuleEvaluation(*first).at_step(1, RunFollower(trial).snapshot()).findings().at(0).value,
            2);
}

TEST(LuaRule, self_knows_its_name_its_trial_and_the_other_runs) {
  const MemoryRun run = losses(1);
  const MemoryRun reference = losses(3);
  std::vector<std::unique_ptr<Trial>> others;
  others.push_back(std::make_unique<Trial>(reference.store));
  JudgedRule rule(run,
                  rule_text("self:issue { tensor = self.name, value = #self.trial:steps() * 100 + "
                            "#self.other_trials[1]:steps() * 10 + #self.other_trials }",
                            "other_trials = 1"),
                  {}, std::move(others));
  EXPECT_THAT(rule.at(0), ElementsAre("fires R  131 vs NaN: value 131"));
}

TEST(LuaRule, without_the_other_runs_that_it_needs_is_not_made) {
  EXPECT_THAT(error_of([] { JudgedRule(losses(1), rule_text("", "other_trials = 2")); }),
              HasSubstr("it compares with 2 other run(s); name them by other_trials=PATH"));
}

TEST(LuaRule, on_tick_hears_the_seconds_since_the_first_one) {
  JudgedRule rule(losses(1),
                  rule_text("",
                            "on_tick = function(self, now) self:issue { tensor = 'loss', "
                            "value = now } end"));
  rule.verdict(0);
  EXPECT_EQ(rule.tick(100).findings().at(0).value, 0);
  EXPECT_EQ(rule.tick(102.5).findings().at(0).value, 2.5);
}

TEST(LuaRule, on_end_is_called_once_behind_the_last_step) {
  const MemoryRun run = losses(3);
  Trial trial = run.open();
  const RuleFiles files;
  RuleRunner runner(trial, {.wait = false});
  runner.add(files
                 .rule(rule_text("trial:tensor('loss'):value(step) self.last = step",
                                 "on_end = function(self) self:issue { tensor = 'loss', "
                                 "value = self.last } end"))
                 ->make(trial));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("2 R IssuesFound", "end R IssuesFound"));
}

TEST(LuaRule, without_on_tick_and_on_end_finds_nothing_there) {
  JudgedRule rule(losses(1), rule_text(""));
  EXPECT_THAT(describe(rule.tick(1)), IsEmpty());
  EXPECT_THAT(describe(rule.at_the_end()), IsEmpty());
}

TEST(LuaRule, between_steps_nothing_can_be_reported_of_a_step) {
  // A method that was kept is called when nothing is judged: while the file is run for another.
  const RuleFiles files;
  EXPECT_THAT(errors_text(files.read("local r = " + rule_text("").substr(7) +
                                     "\nr.issue { tensor = 'x' }")),
              HasSubstr("attempt to call a nil value (field 'issue')"));
}

// ---- required ----

std::string required(const std::string& body) {
  return "required = function(self, step, req) " + body + " end";
}

TEST(LuaRule, what_it_requires_and_is_there_lets_it_judge) {
  EXPECT_THAT(describe(judged("self:issue { tensor = 'loss', value = 1 }",
                              required("req:add('loss', step) req:add('los+', { step }, "
                                       "{ regex = true }) req:add('absent', step, "
                                       "{ regex = true })"))),
              ElementsAre("fires loss worker_0 1 vs NaN: value 1"));
}

TEST(LuaRule, a_step_without_what_it_requires_is_passed_over) {
  const std::string body = "self:issue { tensor = 'loss', value = 1 }";
  EXPECT_THROW(judged(body, required("req:add('absent', step)")), TensorUnavailable);
  MemoryRun run;
  run.worker().save(0, {scalar("loss", 1), scalar("w", 1)}).save(5, {scalar("loss", 1)}).finish();
  const auto at_5 = [&](const std::string& requirement) {
    return [&, requirement] { JudgedRule(run, rule_text(body, required(requirement))).verdict(5); };
  };
  EXPECT_THROW(at_5("req:add('w', step)")(), TensorUnavailableForStep);
  EXPECT_THROW(at_5("req:add('w', { 0, 3 })")(), StepUnavailable);
  EXPECT_THROW(at_5("req:add('w', { 0, 5 })")(), TensorUnavailableForStep);
  EXPECT_NO_THROW(at_5("req:add('w', { 0 })")());
}

TEST(LuaRule, waits_for_what_it_requires_of_another_run) {
  const MemoryRun run = losses(3);
  MemoryRun slow;
  WorkerWriter writer = slow.worker();
  writer.save(0, {scalar("loss", 1)});
  std::vector<std::unique_ptr<Trial>> others;
  others.push_back(std::make_unique<Trial>(slow.store));
  JudgedRule rule(run,
                  rule_text("self:issue { tensor = 'loss', value = 1 }",
                            required("req:add('loss', step, { trial = self.other_trials[1] })")),
                  {}, std::move(others));
  EXPECT_TRUE(rule.verdict(0).fired());
  EXPECT_THAT(rule.verdict(1).why_to_ask_again(), StartsWith("step 1 of "));
  EXPECT_FALSE(rule.verdict(1).fired());
  writer.save(1, {scalar("loss", 1)});
  EXPECT_TRUE(rule.verdict(1).fired());
  writer.finish();
  EXPECT_THROW(rule.verdict(2), StepUnavailable);
}

TEST(LuaRule, mistakes_in_required_are_reported) {
  EXPECT_THAT(mistake("", required("req:add('loss', 'x')")),
              HasSubstr("add: step is a string, not a whole number"));
  EXPECT_THAT(mistake("", required("req:add('loss', { 1.5 })")),
              HasSubstr("add: steps are whole numbers"));
  EXPECT_THAT(mistake("", required("req:add('loss', step, { trail = 1 })")),
              HasSubstr("add does not know trail; did you mean trial?"));
  EXPECT_THAT(mistake("", required("req:add('loss', step, { trial = 1 })")),
              HasSubstr("a method of a trial is called with another value, a number"));
  EXPECT_THAT(mistake("", required("req.add('loss', step)")),
              HasSubstr("write req:method(...), with a colon"));
}

// ---- print, and numbers that look random ----

TEST(LuaRule, prints_to_the_log_with_its_name) {
  const LogCapture log;
  JudgedRule(losses(1), rule_text("print('step', step, nil, {}, '\\x1b[2J')")).verdict(0);
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_EQ(log.lines()[0].second, "R: step 0 nil table \\x1b[2J");
}

TEST(LuaRule, draws_the_same_random_numbers_at_every_run_and_others_than_another_rule) {
  const auto drawn = [](const std::string& name) {
    const std::string text = "return cupel.rule { name = '" + name +
                             "', invoke_at_step = function(self) self:issue { tensor = 'x', "
                             "value = math.random() } end }";
    JudgedRule rule(losses(2), text);
    return std::pair(rule.verdict(0).findings().at(0).value,
                     rule.verdict(1).findings().at(0).value);
  };
  EXPECT_EQ(drawn("A"), drawn("A"));
  EXPECT_NE(drawn("A").first, drawn("B").first);
  EXPECT_NE(drawn("A").first, drawn("A").second);
}

// ---- what --explain shows ----

Lines explained(const std::string& body, const MemoryRun& run = losses(1)) {
  return JudgedRule(run, rule_text(body)).explained(0);
}

// With another run, whose loss at step 0 is 7; at step 1 it has a text in place of it.
Lines explained_beside_another(const std::string& body) {
  MemoryRun other;
  other.worker().save(0, {scalar("loss", 7)}).save(1, {texts("loss", {"x"})}).finish();
  std::vector<std::unique_ptr<Trial>> others;
  others.push_back(std::make_unique<Trial>(other.store, TrialOptions{.name = "good"}));
  return JudgedRule(losses(1), rule_text("local other = self.other_trials[1] " + body), {},
                    std::move(others))
      .explained(0);
}

TEST(LuaRule, explains_what_was_read) {
  EXPECT_THAT(explained("trial:tensor('loss'):reduction_value(step, 'mean')"),
              ElementsAre("loss worker_0: mean (from raw): 0"));
  EXPECT_THAT(explained("for _ in trial:each { step = step, reductions = 'mean' } do end"),
              ElementsAre("loss worker_0: mean (from raw): 0"));
}

TEST(LuaRule, explains_with_the_message_of_what_it_found) {
  EXPECT_THAT(explained("local x = trial:tensor('loss'):reduction_value(step, 'mean') "
                        "self:issue { tensor = 'loss', value = x, message = 'zero' } "
                        "self:issue { tensor = 'other', message = 'odd' }"),
              ElementsAre("loss worker_0: mean (from raw): zero, fired", "other : : odd, fired"));
}

TEST(LuaRule, may_explain_in_its_own_words) {
  EXPECT_THAT(explained("local x = trial:tensor('loss'):reduction_value(step, 'mean') "
                        "self:explain { tensor = 'loss', worker = 'worker_0', compared = '0 < 1' } "
                        "self:explain { tensor = 'other', read = 'nothing' }"),
              ElementsAre("loss worker_0: mean (from raw): 0 < 1", "other : nothing: "));
}

TEST(LuaRule, knows_whether_it_is_to_explain) {
  EXPECT_THAT(explained("if self:explaining() then self:explain { tensor = 'asked' } end"),
              ElementsAre("asked : : "));
  EXPECT_THAT(judged("if self:explaining() then error('nobody asked') end "
                     "self:explain { tensor = 'loss' }")
                  .observations(),
              IsEmpty());
}

TEST(LuaRule, does_not_explain_what_it_then_skips_nor_what_it_read_of_other_steps) {
  JudgedRule rule(losses(3),
                  rule_text("trial:tensor('loss'):value(step) "
                            "self:skip { tensor = 'loss', reason = 'odd' } "
                            "if step > 0 then trial:tensor('loss'):value(step - 1) end"));
  RuleEvaluation(rule.rule()).set_explaining(true);
  EXPECT_THAT(rule.verdict(2).observations(), IsEmpty());
}

TEST(LuaRule, does_not_explain_what_it_skips_while_it_goes_through_many) {
  MemoryRun run;
  run.worker().save(0, {scalar("a", 1), scalar("b", 2), scalar("c", 3)}).finish();
  EXPECT_THAT(explained("for name, worker in trial:each { step = step, reductions = 'mean' } do "
                        "if name ~= 'b' then "
                        "self:skip { tensor = name, worker = worker, reason = 'odd' } end end",
                        run),
              ElementsAre("b worker_0: mean (from raw): 2"));
  EXPECT_THAT(explained("for name, worker in trial:each { step = step, reductions = 'mean' } do "
                        "end self:skip { tensor = 'a', reason = 'odd' }",
                        run),
              ElementsAre("b worker_0: mean (from raw): 2", "c worker_0: mean (from raw): 3"));
}

TEST(LuaRule, explains_what_it_read_of_another_run_as_that_runs) {
  EXPECT_THAT(explained_beside_another("other:tensor('loss'):value(0) "
                                       "for _ in other:each { step = 0, reductions = 'mean' } do "
                                       "end"),
              ElementsAre("loss worker_0: the raw value of good: ",
                          "loss worker_0: mean (from raw) of good: 7"));
}

TEST(LuaRule, a_finding_belongs_to_what_was_read_of_the_judged_run) {
  EXPECT_THAT(explained_beside_another("local x = trial:tensor('loss'):reduction_value(0, 'mean') "
                                       "local y = other:tensor('loss'):reduction_value(0, 'mean') "
                                       "self:issue { tensor = 'loss', message = '0 < 7' }"),
              ElementsAre("loss worker_0: mean (from raw): 0 < 7, fired",
                          "loss worker_0: mean (from raw) of good: 7"));
  EXPECT_THAT(explained_beside_another("local x = trial:tensor('loss'):reduction_value(0, 'mean') "
                                       "local y = other:tensor('loss'):reduction_value(0, 'mean') "
                                       "self:explain { tensor = 'loss', compared = 'fine' }"),
              ElementsAre("loss : mean (from raw): fine"));
}

TEST(LuaRule, what_is_skipped_is_so_of_one_run) {
  EXPECT_THAT(explained_beside_another("trial:tensor('loss'):value(0) "
                                       "other:tensor('loss'):value(0) "
                                       "self:skip { tensor = 'loss', reason = 'odd' }"),
              ElementsAre("loss worker_0: the raw value of good: "));
  EXPECT_THAT(explained_beside_another("trial:tensor('loss'):value(0) "
                                       "for _ in other:each { step = 1, reductions = 'mean' } do "
                                       "end"),
              ElementsAre("loss worker_0: the raw value: "));
}

// ---- as any rule ----

TEST(LuaRule, has_the_name_of_its_file_and_describes_what_it_reads) {
  JudgedRule rule(losses(1), rule_text("", "needs = { patterns = 'loss', raw = true }"));
  EXPECT_EQ(rule.rule().rule_name(), "R");
  EXPECT_EQ(rule.rule().what_it_reads(), "names matching \"loss\": raw values");
  EXPECT_EQ(JudgedRule(losses(1), rule_text("")).rule().what_it_reads(), "what its code asks for");
  EXPECT_FALSE(rule.rule().looks_back_by_itself());
}

}  // namespace
}  // namespace cupel::testing
