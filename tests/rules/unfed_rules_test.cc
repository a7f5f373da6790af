// Rules that never have anything to judge: how they close, and which lines they have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/log_capture.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// Judges "loss" from step `first` on, and nothing before.
std::unique_ptr<Rule> from_step(Trial& trial, std::int64_t first, std::string name = "Late") {
  return written(
      trial,
      [first](Trial&, std::int64_t step) {
        Verdict verdict;
        if (step < first) verdict.not_applicable("too early");
        return verdict;
      },
      std::move(name));
}

Result judge(RuleRunner& runner, std::string_view rule, const RuleParameters& parameters = {},
             bool only_if_fed = false) {
  runner.add({.definition = builtin_rules().find(rule),
              .parameters = parameters,
              .only_if_fed = only_if_fed});
  return run_all(runner);
}

TEST(UnfedRules, close_with_nothing_seen_and_the_reason) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  const Result result = judge(runner, "VanishingGradient");
  EXPECT_THAT(result.lines, ElementsAre("end VanishingGradient NothingSeen"));
  EXPECT_THAT(result.verdicts[0].message,
              StartsWith("saw nothing in its 2 saved steps: nothing of the collection gradients"));
  EXPECT_EQ(result.summary.rules[0].status, RuleStatus::NothingSeen);
  EXPECT_FALSE(result.summary.rules[0].has_judged);
  EXPECT_THAT(to_json(result.verdicts[0]), HasSubstr(R"("status":"NothingSeen")"));
  EXPECT_THAT(to_text(result.verdicts[0]), HasSubstr("VanishingGradient  NothingSeen"));
}

TEST(UnfedRules, are_those_of_a_run_without_steps) {
  LossRun run;
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  EXPECT_THAT(judge(runner, "ExplodingTensor").lines,
              ElementsAre("end ExplodingTensor NothingSeen"));
}

TEST(UnfedRules, are_those_that_only_remembered_what_they_never_compared) {
  LossRun run({0, 1, 2});  // of TRAIN, and nothing of EVAL to compare with
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  const Result result = judge(runner, "Overfit", {{"tensor_regex", "loss"}});
  EXPECT_THAT(result.lines, ElementsAre("end Overfit NothingSeen"));
  EXPECT_THAT(result.verdicts[0].message,
              StartsWith("judged nothing in its 3 saved steps; it reads"));
}

TEST(UnfedRules, are_not_those_that_judged_one_step_and_found_nothing) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(from_step(trial, 2));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end Late NoIssuesFound"));
}

TEST(UnfedRules, that_end_by_themselves_close_with_nothing_seen_too) {
  LossRun run({0, 1});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(written(trial, [](Trial&, std::int64_t) {
    Verdict verdict;
    verdict.not_applicable("nothing for it");
    verdict.end_rule();
    return verdict;
  }));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end Rule NothingSeen"));
}

TEST(UnfedRules, that_are_stopped_are_stopped) {
  LossRun run({0});
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial));
  runner.add("VanishingGradient");
  EXPECT_THAT(run_all(runner, [&](const VerdictLine&) { runner.stop(); }).lines,
              ElementsAre("0 Always IssuesFound", "end Always IssuesFound",
                          "end VanishingGradient Stopped"));
}

TEST(UnfedRules, give_no_line_and_no_warning_where_lines_depend_on_it) {
  const LogCapture log;
  LossRun run(20);
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  const Result result = judge(runner, "VanishingGradient", {}, true);
  EXPECT_THAT(result.lines, IsEmpty());
  EXPECT_THAT(log.lines(), Not(Contains(Pair(LogLevel::Warning, HasSubstr("saw nothing")))));
  EXPECT_EQ(result.summary.rules[0].status, RuleStatus::NothingSeen);
  EXPECT_THAT(result.summary.rules[0].message, StartsWith("saw nothing in its 20 saved steps"));
}

TEST(UnfedRules, that_are_fed_late_have_lines_from_there_on) {
  LossRun run({0, 1, 2});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  runner.add(from_step(trial, 1), {.only_if_fed = true});
  EXPECT_THAT(run_all(runner).lines,
              ElementsAre("1 Late Explained", "2 Late Explained", "end Late NoIssuesFound"));
}

TEST(UnfedRules, that_fail_close_with_the_error) {
  LossRun run({0});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(
      written(trial, [](Trial&, std::int64_t) -> Verdict { throw std::runtime_error("no"); }),
      {.only_if_fed = true});
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end Rule Error"));
}

TEST(UnfedRules, stay_unfed_or_fed_where_another_runner_goes_on) {
  LossRun run({0});
  const ScratchDirectory scratch;
  const std::string out = (scratch / "lines").string();
  const auto judge_all = [&] {
    Trial trial = run.open();
    RuleRunner runner(trial, {.wait = false, .out = out});
    runner.add(written(trial,
                       [](Trial&, std::int64_t step) {
                         Verdict verdict;
                         if (step > 0) verdict.not_applicable("too late");
                         return verdict;
                       }),
               {.name = "Early"});
    runner.add("VanishingGradient");
    return run_all(runner).lines;
  };
  const Lines closing = {"end Early NoIssuesFound", "end VanishingGradient NothingSeen"};
  EXPECT_EQ(judge_all(), closing);
  run.writer.save_steps({1}).finish();
  EXPECT_EQ(judge_all(), closing);
  std::ifstream status(out + ".status.json");
  const auto rules = nlohmann::json::parse(status);
  EXPECT_EQ(rules[0]["RuleEvaluationStatus"], "NoIssuesFound");
  EXPECT_EQ(rules[1]["RuleEvaluationStatus"], "NothingSeen");
  EXPECT_THAT(rules[1]["StatusDetails"].get<std::string>(),
              StartsWith("saw nothing in its 2 saved"));
}

TEST(RuleRunner, reports_how_far_it_has_come) {
  LossRun run({0, 1, 7});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(always(trial));
  EXPECT_FALSE(runner.progress().newest_step.has_value());
  std::vector<std::int64_t> judged;
  run_all(runner, [&](const VerdictLine& line) {
    const RunnerProgress progress = runner.progress();
    EXPECT_EQ(progress.newest_step, 7);
    EXPECT_EQ(progress.steps_judged + progress.steps_behind, 3);
    if (!line.final_line) judged.push_back(progress.steps_judged);
  });
  EXPECT_THAT(judged, ElementsAre(0, 1, 2));
  EXPECT_EQ(runner.progress().steps_judged, 3);
  EXPECT_EQ(runner.progress().steps_behind, 0);
}

}  // namespace
}  // namespace cupel::testing
