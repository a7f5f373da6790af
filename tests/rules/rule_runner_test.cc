#include "cupel/rules/rule_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/rules/rule_evaluation.h"
#include "rules/runner_results.h"

namespace cupel::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(RuleRunner, lines_come_by_step_then_by_rule_and_closing_lines_last) {
  LossRun run({0, 10});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial, "Zebra"));
  runner.add(at(trial, 10, "Ape"));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines,
              ElementsAre("0 Zebra IssuesFound", "10 Zebra IssuesFound", "10 Ape IssuesFound",
                          "end Zebra IssuesFound", "end Ape IssuesFound"));
}

TEST(RuleRunner, a_line_says_all_about_its_step) {
  MemoryRun run;
  auto writer = run.worker();
  writer.save({7, Mode::Eval, 3}, {scalar("loss", 1)});
  writer.finish();
  Trial trial = run.open({.name = "mnist"});
  RuleRunner runner(trial);
  runner.add(at(trial, 7, "Late"), {.name = "configured"});
  const VerdictLine line = run_all(runner).verdicts.at(0);
  EXPECT_EQ(timeless(line),
            R"({"time":"","trial":"mnist","rule":"Late","name":"configured","step":7,)"
            R"("mode":"EVAL","mode_step":3,"status":"IssuesFound","tensors":[{"name":"loss",)"
            R"("worker":"worker_0","value":1.0,"threshold":0.0}],)"
            R"("message":"loss: value 1, threshold 0","incident":1})"
            "\nstep 7 EVAL  configured  loss  value 1, threshold 0");
  ASSERT_EQ(line.time.size(), std::string("2026-01-02T03:04:05.678Z").size());
  EXPECT_EQ(line.time[10], 'T');
  EXPECT_EQ(line.time.back(), 'Z');
}

TEST(RuleRunner, the_closing_line_counts_steps) {
  LossRun run({0, 1, 2, 3});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(trial, [](Trial&, std::int64_t step) {
    Verdict verdict = step >= 2 ? fired() : Verdict();
    if (step == 1) verdict.skip({"loss", "worker_0", "no reason"});
    return verdict;
  }));
  const Result result = run_all(runner);
  const VerdictLine& closing = result.verdicts.back();
  EXPECT_TRUE(closing.final_line);
  EXPECT_EQ(closing.step, 3);
  EXPECT_EQ(closing.first_step, 2);
  EXPECT_EQ(closing.steps_evaluated, 4);
  EXPECT_EQ(closing.steps_skipped, 1);
  ASSERT_EQ(result.summary.rules.size(), 1U);
  EXPECT_EQ(result.summary.rules[0].steps_fired, 2);
  EXPECT_EQ(result.summary.rules[0].first_step, 2);
  EXPECT_TRUE(result.summary.found_issues());
  EXPECT_FALSE(result.summary.had_errors());
}

TEST(RuleRunner, a_rule_that_finds_nothing_says_so_at_the_end) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(never(trial));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("end Never NoIssuesFound"));
  EXPECT_EQ(result.verdicts[0].message, "");
  EXPECT_FALSE(result.summary.found_issues());
}

TEST(RuleRunner, a_run_without_steps_gives_closing_lines_only) {
  LossRun run;
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add("ExplodingTensor");
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("end ExplodingTensor NothingSeen"));
  EXPECT_FALSE(result.verdicts[0].step.has_value());
}

TEST(RuleRunner, a_second_rule_of_a_name_gets_a_number) {
  LossRun run;
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add("ExplodingTensor");
  runner.add("exploding_tensor");
  runner.add({.definition = builtin_rules().find("VanishingGradient"), .name = "ExplodingTensor"});
  runner.add({.definition = builtin_rules().find("VanishingGradient"), .name = "own"});
  Lines names;
  for (const RuleSummary& rule : run_all(runner).summary.rules) names.push_back(rule.name);
  EXPECT_THAT(names,
              ElementsAre("ExplodingTensor", "ExplodingTensor#2", "ExplodingTensor#3", "own"));
}

TEST(RuleRunner, a_bad_rule_is_refused_when_it_is_added) {
  LossRun run;
  Trial trial = run.open();
  RuleRunner runner(trial);
  EXPECT_THROW(runner.add("VanishingGradeint"), UsageError);
  EXPECT_THROW(runner.add("VanishingGradient", {{"threshold", "x"}}), UsageError);
  EXPECT_THROW(runner.add(std::unique_ptr<Rule>()), UsageError);
  EXPECT_THROW(RuleRunner(trial, {.jobs = 0}), UsageError);
}

TEST(RuleRunner, runs_once) {
  LossRun run;
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.run([](const VerdictLine&) {});
  EXPECT_THROW(runner.run([](const VerdictLine&) {}), UsageError);
  EXPECT_THROW(runner.add("ExplodingTensor"), UsageError);
}

/// A run in which much happens at many steps.
struct BusyRun : MemoryRun {
  WorkerWriter writer = worker();
  BusyRun() { writer.collection("gradients", {"^g"}); }
  void save(std::int64_t step) {
    const double mean = step % 3 == 0 ? 1e-9 : 1;
    const float bad = step % 7 == 0 ? std::numeric_limits<float>::infinity() : 0;
    writer.save({step, step % 2 == 0 ? Mode::Train : Mode::Eval, step / 2},
                {reduced("g1", "abs_mean", mean), reduced("g2", "abs_mean", 1), raw("w", {bad})});
  }
};

void add_many_rules(RuleRunner& runner, Trial& trial) {
  runner.add("VanishingGradient");
  runner.add("ExplodingTensor", {{"tensor_regex", "w"}});
  runner.add("VanishingGradient", {{"threshold", "2"}});
  runner.add(at(trial, 50));
  runner.add(written(
      trial,
      [](Trial&, std::int64_t step) -> Verdict {
        if (step == 60) throw std::runtime_error("broken");
        return fired("w");
      },
      "Breaks"));
}

Lines replay(const BusyRun& run, int jobs) {
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = jobs, .explain = true});
  add_many_rules(runner, trial);
  return run_all(runner).timeless_lines;
}

TEST(RuleRunner, lines_do_not_depend_on_the_number_of_threads) {
  BusyRun run;
  for (std::int64_t step = 0; step < 200; ++step) run.save(step);
  run.writer.finish();
  const Lines alone = replay(run, 1);
  EXPECT_GT(alone.size(), 500U);
  EXPECT_EQ(replay(run, 4), alone);
  EXPECT_EQ(replay(run, 16), alone);
}

TEST(RuleRunner, says_the_same_live_and_afterwards) {
  constexpr std::int64_t kSteps = 100;
  BusyRun run;
  run.save(0);
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = 2, .explain = true});
  add_many_rules(runner, trial);
  std::int64_t saved = 0;
  const Lines live = run_all(runner, [&](const VerdictLine& line) {
                       // The run grows step by step, each after the lines of the one before.
                       if (line.final_line || line.step != saved || saved + 1 == kSteps) return;
                       run.save(++saved);
                       if (saved + 1 == kSteps) run.writer.finish();
                     }).timeless_lines;
  EXPECT_EQ(saved + 1, kSteps);
  EXPECT_EQ(replay(run, 1), live);
}

TEST(RuleRunner, rules_run_ahead_of_the_lines_no_further_than_a_bound) {
  LossRun run(std::int64_t{300});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = 2});
  std::atomic<std::int64_t> evaluated = 0;
  runner.add(written(trial, [&](Trial&, std::int64_t) {
    ++evaluated;
    evaluated.notify_all();
    return fired();
  }));
  std::int64_t furthest = 0;
  run_all(runner, [&](const VerdictLine& line) {
    if (line.step == 0)
      for (std::int64_t now = evaluated; now < 64; now = evaluated) evaluated.wait(now);
    if (!line.final_line) furthest = std::max(furthest, evaluated - *line.step);
  });
  EXPECT_EQ(evaluated, 300);
  EXPECT_EQ(furthest, 64);
}

TEST(RuleRunner, pauses_when_no_line_follows_at_once) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial, {.idle_timeout = std::chrono::seconds(30)});
  runner.add(always(trial));
  std::int64_t said = 0, saved = 1;
  // Whoever gathers lines would wait for ever if it were not told.
  runner.run([&](const VerdictLine&) { ++said; },
             [&] {
               if (said < saved) return;
               if (saved == 5) return run.writer.finish();
               run.writer.save_steps({saved++});
             });
  EXPECT_EQ(said, 5 + 1);
}

TEST(RuleRunner, pauses_every_few_steps_while_lines_follow_each_other) {
  LossRun run(std::int64_t{300});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial));
  int together = 0, most_together = 0;
  runner.run([&](const VerdictLine& line) { together += line.final_line ? 0 : 1; },
             [&] {
               most_together = std::max(most_together, together);
               together = 0;
             });
  EXPECT_LE(std::max(most_together, together), 64);
}

TEST(RuleRunner, one_rule_is_in_one_thread_at_a_time_and_sees_growing_steps) {
  LossRun run(std::int64_t{200});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = 4});
  std::atomic<int> inside = 0;
  int worst = 0;
  Steps seen;
  runner.add(written(trial, [&](Trial&, std::int64_t step) {
    worst = std::max(worst, ++inside);
    seen.push_back(step);
    --inside;
    return Verdict();
  }));
  for (int i = 0; i < 3; ++i) runner.add(always(trial));
  run_all(runner);
  EXPECT_EQ(worst, 1);
  EXPECT_EQ(seen.size(), 200U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST(RuleRunner, lines_come_from_the_thread_that_runs) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = 2});
  runner.add(always(trial));
  std::vector<std::thread::id> threads;
  run_all(runner, [&](const VerdictLine&) { threads.push_back(std::this_thread::get_id()); });
  EXPECT_THAT(threads, Each(std::this_thread::get_id()));
}

TEST(RuleRunner, a_rule_that_throws_ends_and_the_others_go_on) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(
      trial,
      [](Trial&, std::int64_t step) -> Verdict {
        if (step == 1) throw std::runtime_error("out of luck");
        return fired();
      },
      "Breaks"));
  runner.add(always(trial));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines,
              ElementsAre("0 Breaks IssuesFound", "0 Always IssuesFound", "1 Always IssuesFound",
                          "2 Always IssuesFound", "end Breaks Error", "end Always IssuesFound"));
  const RuleSummary& broken = result.summary.rules[0];
  EXPECT_EQ(broken.message, "runtime_error: out of luck");
  EXPECT_EQ(broken.first_step, 0);
  EXPECT_TRUE(result.summary.had_errors());
  EXPECT_EQ(result.verdicts[4].step, 1);
}

TEST(RuleRunner, errors_of_ours_are_named_by_their_class) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(trial, [](Trial& view, std::int64_t) {
    return fired("loss", view.tensor("loss").value(0, Mode::Train, "nobody").at(0));
  }));
  runner.add(written(trial, [](Trial&, std::int64_t) -> Verdict { throw 7; }));
  const Result result = run_all(runner);
  EXPECT_THAT(result.summary.rules[0].message, StartsWith("InvalidWorker: "));
  EXPECT_EQ(result.summary.rules[1].message, "an exception that is not a std::exception");
  EXPECT_EQ(result.summary.rules[1].status, RuleStatus::Error);
}

TEST(RuleRunner, looking_behind_the_step_is_an_error_of_the_rule_live_and_afterwards) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(trial, [](Trial& view, std::int64_t step) {
    return fired("loss", view.tensor("loss").value(step + 1).at(0));
  }));
  EXPECT_THAT(run_all(runner).summary.rules[0].message, StartsWith("StepNotYetAvailable: "));
}

TEST(RuleRunner, missing_data_skips_the_step) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(trial, [](Trial& view, std::int64_t step) -> Verdict {
    if (step == 0) view.tensor("unknown");
    if (step == 1) throw TensorUnavailableForStep("loss", 1, Mode::Train, false);
    return fired();
  }));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("2 Rule IssuesFound", "end Rule IssuesFound"));
  EXPECT_EQ(result.summary.rules[0].steps_skipped, 2);
  EXPECT_EQ(result.summary.rules[0].steps_evaluated, 3);
}

TEST(RuleRunner, a_rule_may_end_itself_with_its_firing) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(trial, [](Trial&, std::int64_t step) -> Verdict {
    throw RuleEvaluationConditionMet("Rule", step, step == 1);
  }));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines,
              ElementsAre("0 Rule IssuesFound", "1 Rule IssuesFound", "end Rule IssuesFound"));
  EXPECT_EQ(result.verdicts[0].message, "The condition of the rule was met: rule Rule, step 0");
}

TEST(RuleRunner, a_rule_ends_at_its_first_firing_when_asked_to) {
  LossRun run({0, 1, 2, 3});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.stop_at_first = true});
  runner.add(at(trial, 1));
  runner.add(at(trial, 2));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("1 At IssuesFound", "2 At#2 IssuesFound",
                                        "end At IssuesFound", "end At#2 IssuesFound"));
  EXPECT_EQ(result.summary.rules[0].steps_evaluated, 2);
  EXPECT_EQ(result.summary.rules[1].steps_evaluated, 3);
}

TEST(RuleRunner, ends_before_the_run_does_when_all_rules_have) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial, {.stop_at_first = true});
  runner.add(always(trial));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("0 Always IssuesFound", "end Always IssuesFound"));
}

TEST(RuleRunner, judges_from_the_start_step_to_before_the_end_step) {
  LossRun run({0, 3, 5, 9, 10, 12});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.start_step = 4, .end_step = 10});
  runner.add(always(trial));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("5 Always IssuesFound", "9 Always IssuesFound",
                                                 "end Always IssuesFound"));
}

TEST(RuleRunner, does_not_wait_for_more_than_the_end_step_needs) {
  LossRun run({0, 3, 10});
  Trial trial = run.open();
  RuleRunner runner(trial, {.end_step = 5});
  runner.add(always(trial));
  EXPECT_EQ(run_all(runner).summary.rules[0].steps_evaluated, 2);
  RuleRunner nothing(trial, {.start_step = 5, .end_step = 5});
  nothing.add(always(trial));
  EXPECT_THAT(run_all(nothing).lines, ElementsAre("end Always NothingSeen"));
}

TEST(RuleRunner, without_waiting_judges_what_is_there) {
  LossRun run({0, 1});
  Trial trial = run.open();
  run.writer.save_steps({2});
  RuleRunner runner(trial, {.wait = false});
  runner.add(always(trial));
  EXPECT_EQ(run_all(runner).summary.rules[0].steps_evaluated, 3);
}

TEST(RuleRunner, ends_after_a_silence) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial, {.idle_timeout = std::chrono::milliseconds(20)});
  runner.add(never(trial));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("end Never NoIssuesFound"));
  EXPECT_EQ(result.verdicts[0].message, "no new step for 20 ms");
}

TEST(RuleRunner, stops_when_told_from_another_thread) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial);
  std::promise<void> judged;
  runner.add(written(trial, [&](Trial&, std::int64_t) {
    judged.set_value();
    return Verdict();
  }));
  std::jthread stopper([&] {
    judged.get_future().wait();
    runner.stop();
  });
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines, ElementsAre("end Rule Stopped"));
  EXPECT_EQ(result.verdicts[0].message, "stopped before the run ended");
}

TEST(RuleRunner, stops_from_inside_a_line_without_another_one) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(never(trial));
  runner.add(at(trial, 1));
  runner.add(always(trial));
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (line.name == "At") runner.stop();
  });
  EXPECT_THAT(result.lines,
              ElementsAre("0 Always IssuesFound", "1 At IssuesFound", "end Never Stopped",
                          "end At IssuesFound", "end Always IssuesFound"));
  EXPECT_EQ(result.summary.rules[0].steps_evaluated, 2);
  EXPECT_EQ(result.summary.rules[2].steps_evaluated, 1);
}

TEST(RuleRunner, stopped_before_it_runs_says_closing_lines_only) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(never(trial));
  runner.stop();
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end Never Stopped"));
}

TEST(RuleRunner, an_exception_of_the_callback_is_let_out) {
  LossRun run({0, 1});
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial));
  EXPECT_THROW(runner.run([](const VerdictLine&) { throw std::out_of_range("full"); }),
               std::out_of_range);
}

TEST(RuleRunner, without_rules_has_nothing_to_wait_for) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial);
  EXPECT_THAT(run_all(runner).lines, IsEmpty());
}

TEST(RuleRunner, explains_each_step_before_what_was_found_there) {
  MemoryRun run;
  auto writer = run.worker();
  writer.collection("gradients", {"^g"});
  writer.save(0, {reduced("g", "abs_mean", 1e-9), reduced("g2", "min", 1)});
  writer.save(1, {scalar("loss", 1)});
  writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  runner.add("VanishingGradient");
  runner.add(never(trial));
  const Result result = run_all(runner);
  ASSERT_THAT(result.lines,
              ElementsAre("0 VanishingGradient Explained", "0 VanishingGradient IssuesFound",
                          "0 Never Explained", "1 VanishingGradient Explained", "1 Never Explained",
                          "end VanishingGradient IssuesFound", "end Never NoIssuesFound"));
  ASSERT_EQ(result.verdicts[0].observations.size(), 1U);
  EXPECT_EQ(result.verdicts[0].observations[0].read, "abs_mean (saved)");
  ASSERT_EQ(result.verdicts[0].skips.size(), 1U);
  EXPECT_EQ(result.verdicts[0].skips[0].tensor, "g2");
  EXPECT_EQ(result.verdicts[2].message, "the rule tells nothing of what it looked at");
  EXPECT_THAT(result.verdicts[3].message, StartsWith("not applicable: nothing of the"));
}

TEST(RuleRunner, observations_are_made_only_to_explain) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  auto rule = builtin_rules().require("ExplodingTensor").make(trial);
  const Rule& made = *rule;
  runner.add(std::move(rule));
  EXPECT_FALSE(made.explaining());
  RuleRunner explaining(trial, {.explain = true});
  rule = builtin_rules().require("ExplodingTensor").make(trial);
  const Rule& other = *rule;
  explaining.add(std::move(rule));
  EXPECT_TRUE(other.explaining());
}

TEST(RuleRunner, a_rule_that_sees_nothing_says_once_why) {
  const LogCapture log;
  LossRun run(std::int64_t{25});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add("VanishingGradient");
  const Result result = run_all(runner);
  EXPECT_THAT(
      result.summary.rules[0].message,
      "saw nothing in its 25 saved steps: nothing of the collection gradients was saved at this "
      "step; it reads the collection gradients: abs_mean, else l1, else raw values");
  EXPECT_EQ(result.summary.rules[0].status, RuleStatus::NothingSeen);
  EXPECT_EQ(std::count_if(log.lines().begin(), log.lines().end(),
                          [](const auto& line) {
                            return line.first == LogLevel::Warning &&
                                   line.second.starts_with(
                                       "rule VanishingGradient saw nothing in its first 10 saved "
                                       "steps: ");
                          }),
            1);
}

TEST(RuleRunner, a_rule_whose_tensors_are_all_unusable_says_why) {
  MemoryRun run;
  auto writer = run.worker();
  writer.collection("gradients", {"^g"});
  writer.save(0, {reduced("g", "min", 1)});
  writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add("VanishingGradient");
  const Result result = run_all(runner);
  EXPECT_THAT(result.summary.rules[0].message,
              HasSubstr("g: neither abs_mean nor l1 nor the raw value was saved"));
  EXPECT_EQ(result.summary.rules[0].steps_skipped, 1);
}

TEST(RuleRunner, a_rule_that_sees_something_later_does_not_complain) {
  const LogCapture log;
  MemoryRun run;
  auto writer = run.worker();
  writer.collection("gradients", {"^g"});
  for (std::int64_t step = 0; step < 20; ++step)
    writer.save(step, {reduced(step == 5 ? "g" : "w", "abs_mean", 1)});
  writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add("VanishingGradient");
  EXPECT_EQ(run_all(runner).summary.rules[0].message, "");
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(RuleRunner, a_step_that_a_worker_did_not_save_names_the_worker) {
  MemoryRun run;
  auto first = run.worker({"worker_0", 2});
  auto second = run.worker({"worker_1", 2});
  first.save_steps({0, 1, 2}).close();
  second.save_steps({0, 2}).close();
  run.end();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial));
  const Result result = run_all(runner);
  EXPECT_THAT(result.verdicts[0].missing_workers, IsEmpty());
  EXPECT_THAT(result.verdicts[1].missing_workers, ElementsAre("worker_1"));
  EXPECT_EQ(to_text(result.verdicts[0]),
            "step 0 TRAIN  Always  loss (worker_0)  value 1, threshold 0");
}

TEST(RuleRunner, a_restart_is_said_once_and_no_step_is_judged_twice) {
  LossRun run({0, 1, 2, 3});
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial));
  runner.add(never(trial));
  auto second = run.worker({"worker_0", 1, 1});
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (line.step == 3 && line.status == RuleStatus::IssuesFound && !line.final_line)
      second.save_steps({2, 3, 4}).finish();
  });
  EXPECT_THAT(
      result.lines,
      ElementsAre("0 Always IssuesFound", "1 Always IssuesFound", "2 Always IssuesFound",
                  "3 Always IssuesFound", "2 Always Rewound", "2 Never Rewound",
                  "4 Always IssuesFound", "end Always IssuesFound", "end Never NoIssuesFound"));
  EXPECT_EQ(result.summary.rules[0].steps_evaluated, 5);
}

TEST(RuleRunner, damage_is_let_out_after_all_that_can_be_said) {
  LossRun run({0, 1});
  run.writer.put_after(2).seal().save_steps({2, 3}).finish();
  flip_bit(*run.store, run.writer.index_key(), 900);
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial));
  Lines lines;
  std::string message;
  EXPECT_THROW(runner.run([&](const VerdictLine& line) {
    lines.push_back(brief(line));
    message = line.message;
  }),
               FormatError);
  EXPECT_THAT(lines,
              ElementsAre("0 Always IssuesFound", "1 Always IssuesFound", "end Always Error"));
  EXPECT_THAT(message, StartsWith("FormatError: "));
}

TEST(RuleRunner, a_store_that_fails_for_a_moment_is_asked_again) {
  const LogCapture log;
  LossRun run({0});
  auto wrapper = std::make_shared<StoreWrapper>(run.store);
  Trial trial = MemoryRun::open_over(wrapper);
  run.writer.save_steps({1}).finish();
  std::atomic<int> failures = 2;
  wrapper->before_list = [&](std::string_view) {
    if (failures-- > 0) throw StoreError("index/", true, "connection reset");
  };
  RuleRunner runner(trial);
  runner.add(always(trial));
  EXPECT_EQ(run_all(runner).summary.rules[0].steps_evaluated, 2);
  EXPECT_THAT(log.lines().at(0).second, HasSubstr("connection reset"));
}

TEST(RuleRunner, a_store_that_keeps_failing_ends_the_run) {
  const LogCapture log;
  LossRun run({0});
  auto wrapper = std::make_shared<StoreWrapper>(run.store);
  Trial trial = MemoryRun::open_over(wrapper);
  wrapper->before_list = [](std::string_view) {
    throw StoreError("index/", false, "no such bucket");
  };
  RuleRunner runner(trial);
  runner.add(always(trial));
  Lines lines;
  EXPECT_THROW(runner.run([&](const VerdictLine& line) { lines.push_back(brief(line)); }),
               StoreError);
  EXPECT_THAT(lines.back(), EndsWith("Error"));
}

TEST(RuleRunner, a_step_with_very_many_findings_lists_some_and_counts_the_rest) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(trial, [](Trial&, std::int64_t) {
    Verdict verdict;
    for (int i = 0; i < 1200; ++i)
      verdict.add({.tensor = "t" + std::to_string(1000 + i), .worker = "w", .message = "bad"});
    return verdict;
  }));
  const VerdictLine line = run_all(runner).verdicts.at(0);
  EXPECT_EQ(line.tensors.size(), 1000U);
  EXPECT_EQ(line.findings_beyond, 200);
  EXPECT_EQ(line.message,
            "t1000: bad; t1001: bad; t1002: bad; and 1197 more (200 of them are not listed)");
}

}  // namespace
}  // namespace cupel::testing
