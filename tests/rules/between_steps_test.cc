// What rules are asked between steps, and what they find there.

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rules/runner_results.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using TimePoint = std::chrono::steady_clock::time_point;

// Does what a test says at ticks and at the end.
class AskedBetweenSteps : public WrittenRule {
 public:
  using WrittenRule::WrittenRule;
  std::function<Verdict(Trial&)> at_tick = [](Trial&) { return Verdict(); };
  std::function<Verdict(Trial&)> at_end = [](Trial&) { return Verdict(); };
  Verdict on_tick(TimePoint /*now*/) override { return at_tick(base_trial()); }
  Verdict on_end() override { return at_end(base_trial()); }
};

std::unique_ptr<AskedBetweenSteps> asked(Trial& trial, std::string name = "Asked") {
  return std::make_unique<AskedBetweenSteps>(
      trial, [](Trial&, std::int64_t) { return Verdict(); }, std::move(name));
}

Verdict last_word(std::string tensor = "loss") {
  Verdict verdict = fired(std::move(tensor));
  verdict.end_rule();
  return verdict;
}

TEST(BetweenSteps, what_a_tick_finds_is_said_of_the_step_before) {
  LossRun run({0, 7});
  Trial trial = run.open();
  RuleRunner runner(trial, {.tick_interval = milliseconds(1)});
  auto rule = asked(trial);
  rule->at_tick = [](Trial& view) { return view.steps().size() == 2 ? last_word() : Verdict(); };
  runner.add(std::move(rule));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("7 Asked IssuesFound", "end Asked IssuesFound"));
}

TEST(BetweenSteps, a_tick_comes_before_the_first_step_too) {
  LossRun run;
  Trial trial = run.open();
  RuleRunner runner(trial, {.tick_interval = milliseconds(1)});
  auto rule = asked(trial);
  rule->at_tick = [](Trial&) { return last_word(); };
  runner.add(std::move(rule));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("-1 Asked IssuesFound", "end Asked IssuesFound"));
  EXPECT_THAT(to_json(result.verdicts[0]), HasSubstr("\"step\":null,\"mode\":null"));
}

TEST(BetweenSteps, a_rule_that_a_tick_has_ended_does_not_hold_up_the_others) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = 2, .tick_interval = milliseconds(1)});
  auto rule = asked(trial, "Ends");
  rule->at_tick = [](Trial&) { return last_word(); };
  runner.add(always(trial, "First"));
  runner.add(std::move(rule));
  runner.add(always(trial, "Last"));
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (line.name == "Ends" && !line.final_line) run.writer.save_steps({1}).finish();
  });
  EXPECT_THAT(result.lines,
              ElementsAre("0 First IssuesFound", "0 Last IssuesFound", "0 Ends IssuesFound",
                          "1 First IssuesFound", "1 Last IssuesFound", "end First IssuesFound",
                          "end Ends IssuesFound", "end Last IssuesFound"));
}

TEST(BetweenSteps, a_rule_that_throws_at_a_tick_ends_with_its_error) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial, {.tick_interval = milliseconds(1)});
  auto rule = asked(trial);
  rule->at_tick = [](Trial&) -> Verdict { throw std::runtime_error("no"); };
  runner.add(std::move(rule));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("end Asked Error"));
  EXPECT_THAT(result.summary.rules[0].message, HasSubstr("no"));
}

TEST(BetweenSteps, without_waiting_there_are_no_ticks) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial, {.wait = false, .tick_interval = milliseconds(0)});
  auto rule = asked(trial);
  rule->at_tick = [](Trial&) { return last_word(); };
  runner.add(std::move(rule));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end Asked NoIssuesFound"));
}

TEST(BetweenSteps, rules_are_asked_once_when_the_run_has_ended_and_see_all_of_it) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  int times = 0;
  auto rule = asked(trial);
  rule->at_end = [&](Trial& view) {
    ++times;
    return fired("loss", static_cast<double>(view.steps().size()));
  };
  runner.add(std::move(rule));
  runner.add(at(trial, 1));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("1 At IssuesFound", "1 Asked IssuesFound",
                                        "end Asked IssuesFound", "end At IssuesFound"));
  EXPECT_EQ(result.verdicts[1].tensors[0].value, 2);
  EXPECT_EQ(times, 1);
}

TEST(BetweenSteps, a_rule_that_has_ended_or_was_stopped_is_not_asked_at_the_end) {
  LossRun run({0, 1});
  Trial trial = run.open();
  RuleRunner runner(trial);
  bool was_asked = false;
  const auto ask = [&](Trial&) {
    was_asked = true;
    return Verdict();
  };
  auto ended = std::make_unique<AskedBetweenSteps>(
      trial, [](Trial&, std::int64_t) { return last_word(); }, "Ended");
  ended->at_end = ask;
  auto stopped = asked(trial, "Stopped");
  stopped->at_end = ask;
  runner.add(std::move(ended));
  runner.add(std::move(stopped));
  run_all(runner, [&](const VerdictLine&) { runner.stop(); });
  EXPECT_FALSE(was_asked);
}

TEST(BetweenSteps, a_rule_that_waits_for_something_else_is_asked_again) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = 2});
  int times = 0;
  runner.add(written(trial, [&](Trial&, std::int64_t step) {
    Verdict verdict = fired();
    if (step == 0 && ++times < 3) verdict.ask_again("not yet");
    return verdict;
  }));
  runner.add(always(trial));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("0 Rule IssuesFound", "0 Always IssuesFound",
                                                 "1 Rule IssuesFound", "1 Always IssuesFound",
                                                 "end Rule IssuesFound", "end Always IssuesFound"));
  EXPECT_EQ(times, 3);
}

TEST(BetweenSteps, a_rule_that_has_waited_in_vain_does_not_wait_at_each_step_again) {
  LossRun run(20);
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.idle_timeout = milliseconds(20)});
  int times = 0;
  runner.add(written(trial, [&](Trial&, std::int64_t) {
    ++times;
    Verdict verdict;
    verdict.ask_again("the other run has ended");
    return verdict;
  }));
  EXPECT_EQ(run_all(runner).summary.rules[0].steps_skipped, 20);
  EXPECT_EQ(times, 21);  // only the first step is asked for again
}

TEST(BetweenSteps, without_waiting_what_is_not_there_yet_is_skipped) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.wait = false});
  runner.add(written(trial, [](Trial&, std::int64_t) {
    Verdict verdict;
    verdict.ask_again("the other run has not come so far");
    return verdict;
  }));
  const Result result = run_all(runner);
  EXPECT_EQ(result.summary.rules[0].steps_skipped, 1);
  EXPECT_THAT(result.summary.rules[0].message, HasSubstr("the other run has not come so far"));
}

// ---- StalledTrainingRule in a runner; what it says of ticks is data:
// cases/StalledTrainingRule.json

TEST(StalledTrainingRule, of_a_run_that_has_ended_finds_nothing_however_long_ago) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.tick_interval = milliseconds(1)});
  runner.add("StalledTrainingRule", {{"threshold", "1"}});
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end StalledTrainingRule NoIssuesFound"));
}

TEST(StalledTrainingRule, fires_in_a_runner_that_waits) {
  LossRun run({0, 3});
  Trial trial = run.open();
  RuleRunner runner(trial, {.tick_interval = milliseconds(20)});
  runner.add("StalledTrainingRule", {{"threshold", "1"}});
  EXPECT_THAT(run_all(runner).lines, ElementsAre("3 StalledTrainingRule IssuesFound",
                                                 "end StalledTrainingRule IssuesFound"));
}

TEST(StalledTrainingRule, asks_to_stop_training_where_it_is_told_to) {
  const LossRun run({0});
  Trial trial = run.open();
  const RuleParameters stop = {{"stop_training_on_fire", "True"}};
  EXPECT_FALSE(builtin_rules().require("StalledTrainingRule").make(trial)->stops_training());
  EXPECT_TRUE(builtin_rules().require("StalledTrainingRule").make(trial, stop)->stops_training());
}

}  // namespace
}  // namespace cupel::testing
