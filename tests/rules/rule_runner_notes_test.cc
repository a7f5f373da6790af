#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/rules/rule_runner.h"
#include "rules/runner_results.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Writes notes of a hook at some steps of a run.
struct NotedRun : MemoryRun {
  WorkerWriter writer = worker();
  void save(std::int64_t step, const std::vector<std::string>& notes = {}) {
    std::vector<SavedTensor> tensors = {scalar("loss", 1)};
    if (!notes.empty()) tensors.push_back(texts("cupel/note", notes));
    writer.save(step, std::move(tensors));
  }
  void note(std::int64_t step, const std::string& text) {
    writer.save(step, {texts("cupel/note", {text})});
  }
};

/// "0 Rule Explained", "note 3 text".
Lines with_notes(const Result& result) {
  Lines lines;
  for (const VerdictLine& line : result.verdicts)
    lines.push_back(line.note ? "note " + std::to_string(line.note->step) + " " + line.message
                              : brief(line));
  return lines;
}

TEST(RuleRunner, tells_notes_once_before_the_explanations_of_the_step) {
  NotedRun run;
  run.save(0);
  run.note(1, "a");
  run.save(2, {"b", "c"});
  run.save(3);
  run.note(4, "last");
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  runner.add(never(trial, "X"));
  runner.add(at(trial, 2, "Y"));
  const Result result = run_all(runner);
  EXPECT_THAT(
      with_notes(result),
      ElementsAre("0 X Explained", "0 Y Explained", "note 1 a", "note 2 b", "note 2 c",
                  "2 X Explained", "2 Y Explained", "2 Y IssuesFound", "3 X Explained",
                  "3 Y Explained", "note 4 last", "end X NoIssuesFound", "end Y IssuesFound"));
  EXPECT_EQ(result.verdicts[2].step, 1);
  EXPECT_EQ(result.verdicts[2].note->worker, "worker_0");
  EXPECT_EQ(to_text(result.verdicts[2]), "step 1  worker_0  a");
}

TEST(RuleRunner, tells_no_notes_unless_it_explains) {
  NotedRun run;
  run.save(0, {"a"});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial);
  runner.add(never(trial));
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end Never NoIssuesFound"));
}

TEST(RuleRunner, notes_of_steps_before_the_first_judged_are_told_and_of_those_behind_the_end_not) {
  NotedRun run;
  for (std::int64_t step = 0; step < 5; ++step) run.save(step, {"at " + std::to_string(step)});
  run.writer.finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.start_step = 1, .end_step = 3, .explain = true});
  runner.add(never(trial, "X"));
  EXPECT_THAT(with_notes(run_all(runner)),
              ElementsAre("note 0 at 0", "note 1 at 1", "1 X Explained", "note 2 at 2",
                          "2 X Explained", "end X NoIssuesFound"));
}

TEST(RuleRunner, a_callback_may_stop_the_runner_at_any_note) {
  for (const std::string last : {"a", "b"}) {
    NotedRun run;
    run.save(0, {"a"});
    run.note(1, "b");
    run.writer.finish();
    Trial trial = run.open();
    RuleRunner runner(trial, {.explain = true});
    runner.add(never(trial, "X"));
    const Result result = run_all(runner, [&](const VerdictLine& line) {
      if (line.note && line.message == last) runner.stop();
    });
    EXPECT_TRUE(result.verdicts.back().final_line);
  }
}

TEST(RuleRunner, notes_are_the_same_live_and_afterwards_by_any_number_of_threads) {
  constexpr std::int64_t kSteps = 60;
  const auto add_rules = [](RuleRunner& runner, Trial& trial) {
    runner.add("ExplodingTensor");
    runner.add(at(trial, 20));
    runner.add(always(trial));
  };
  NotedRun run;
  const auto save = [&run](std::int64_t step) {
    if (step % 4 == 0) run.note(3 * step, "alone");
    const bool noted = step % 3 == 0;
    run.save(3 * step + 1, noted ? std::vector<std::string>{"a", "b"} : std::vector<std::string>());
    if (step + 1 < kSteps) return;
    run.note(3 * kSteps, "last");
    run.writer.finish();
  };
  save(0);
  Trial trial = run.open();
  RuleRunner runner(trial, {.jobs = 2, .explain = true});
  add_rules(runner, trial);
  std::int64_t saved = 0;
  const Lines live = run_all(runner, [&](const VerdictLine& line) {
                       const bool is_last = line.name == "Always" && !line.final_line;
                       if (!is_last || line.step != 3 * saved + 1) return;
                       if (saved + 1 < kSteps) save(++saved);
                     }).timeless_lines;
  EXPECT_EQ(saved + 1, kSteps);
  EXPECT_EQ(std::count_if(live.begin(), live.end(),
                          [](const auto& line) { return line.find("Noted") != line.npos; }),
            15 + 40 + 1);
  for (const int jobs : {1, 3}) {
    Trial afterwards = run.open();
    RuleRunner replaying(afterwards, {.jobs = jobs, .explain = true});
    add_rules(replaying, afterwards);
    EXPECT_EQ(run_all(replaying).timeless_lines, live);
  }
}

TEST(RuleRunner, a_note_that_is_damaged_is_told_and_the_others_too) {
  NotedRun run;
  const std::string text(100, 'x');  // in the events file
  run.writer.put_after(3);
  run.save(0, {"first"});
  run.save(1, {text});
  run.save(2, {"third"});
  run.writer.finish();
  flip_bit(*run.store, run.writer.events_key(), run.writer.last_location().offset + 20);
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  runner.add(never(trial, "X"));
  const Lines lines = with_notes(run_all(runner));
  EXPECT_THAT(lines, ElementsAre("note 0 first", "0 X Explained",
                                 StartsWith("note 1 a note cannot be read: "), "1 X Explained",
                                 "note 2 third", "2 X Explained", "end X NoIssuesFound"));
}

TEST(RuleRunner, notes_behind_a_rewind_are_told) {
  NotedRun run;
  for (std::int64_t step = 0; step < 4; ++step) run.save(step, {"old " + std::to_string(step)});
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  runner.add(never(trial, "X"));
  auto second = run.worker({"worker_0", 1, 1});
  const Result result = run_all(runner, [&](const VerdictLine& line) {
    if (line.step != 3 || line.status != RuleStatus::Explained) return;
    second.save(2, {scalar("loss", 1), texts("cupel/note", {"new 2"})});
    second.save(4, {scalar("loss", 1), texts("cupel/note", {"new 4"})}).finish();
  });
  EXPECT_THAT(
      with_notes(result),
      ElementsAre("note 0 old 0", "0 X Explained", "note 1 old 1", "1 X Explained", "note 2 old 2",
                  "2 X Explained", "note 3 old 3", "3 X Explained", "2 X Rewound", "note 2 new 2",
                  "note 4 new 4", "4 X Explained", "end X NoIssuesFound"));
}

}  // namespace
}  // namespace cupel::testing
