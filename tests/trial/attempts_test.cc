#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

/// A process that was killed in step 4, and its successor that goes on from step 2.
struct RestartedRun : MemoryRun {
  WorkerWriter first = worker();
  RestartedRun() { save(first, {0, 1, 2, 3}, 1); }

  static void save(WorkerWriter& writer, std::initializer_list<std::int64_t> steps, float value) {
    for (const std::int64_t step : steps) writer.save(step, {raw("w", {value})});
  }
  WorkerWriter restart(std::int32_t attempt = 1) const { return worker({"worker_0", 1, attempt}); }
};

TEST(Attempts, a_later_one_hides_what_it_does_again) {
  RestartedRun run;
  WorkerWriter second = run.restart();
  RestartedRun::save(second, {2, 5}, 2);
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 5));
  EXPECT_EQ(trial.tensor("w").value(1).at(0), 1);
  EXPECT_EQ(trial.tensor("w").value(2).at(0), 2);
  EXPECT_THROW(trial.tensor("w").value(3), StepUnavailable);
}

TEST(Attempts, one_that_goes_on_behind_the_end_hides_nothing) {
  RestartedRun run;
  WorkerWriter second = run.restart();
  RestartedRun::save(second, {4, 5}, 2);
  EXPECT_THAT(run.open().steps(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Attempts, the_third_may_go_back_behind_the_second) {
  RestartedRun run;
  WorkerWriter second = run.restart(), third = run.restart(2);
  RestartedRun::save(second, {2, 3}, 2);
  RestartedRun::save(third, {1}, 3);
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_EQ(trial.tensor("w").value(1).at(0), 3);
}

TEST(Attempts, what_was_torn_when_the_process_died_is_no_damage) {
  RestartedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  const auto index = run.first.encode(4, {raw("w", {1})});
  run.first.append_index(std::span(index).first(index.size() / 2));
  WorkerWriter second = run.restart();
  RestartedRun::save(second, {3}, 2);
  second.finish();
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(trial.ended());
}

TEST(Attempts, one_that_commits_nothing_before_the_end_makes_nothing_damage) {
  RestartedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  const auto index = run.first.encode(4, {raw("w", {1})});
  run.first.append_index(std::span(index).first(index.size() / 2));
  const Trial live = run.open();
  EXPECT_THAT(live.steps(), ElementsAre(0, 1, 2, 3));
  run.restart().finish();
  const Trial fresh = run.open();
  for (const Trial* trial : {&live, &fresh}) {
    EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2, 3));
    EXPECT_TRUE(trial->ended());
  }
}

TEST(Attempts, a_later_one_may_start_while_the_run_is_read) {
  RestartedRun run;
  const Trial trial = run.open();
  const auto before = RunFollower(trial).snapshot();
  EXPECT_EQ(RunFollower(trial).rewound_to(*before), std::nullopt);
  WorkerWriter second = run.restart();
  RestartedRun::save(second, {2}, 2);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.last_complete_step(), 2);
  EXPECT_EQ(RunFollower(trial).rewound_to(*before), 2);
}

TEST(Attempts, one_that_takes_nothing_back_rewinds_nothing) {
  RestartedRun run;
  const Trial trial = run.open();
  const auto before = RunFollower(trial).snapshot();
  WorkerWriter second = run.restart();
  RestartedRun::save(second, {4}, 2);
  trial.refresh();
  EXPECT_EQ(RunFollower(trial).rewound_to(*before), std::nullopt);
}

TEST(Attempts, rewinding_names_the_first_step_taken_back) {
  MemoryRun run;
  WorkerWriter first = run.worker();
  first.save_steps({0, 10, 20, 30});
  const Trial trial = run.open();
  const auto before = RunFollower(trial).snapshot();
  run.worker({"worker_0", 1, 1}).save_steps({15});
  trial.refresh();
  EXPECT_EQ(RunFollower(trial).rewound_to(*before), 20);
  const auto after = RunFollower(trial).snapshot();
  EXPECT_EQ(RunFollower(trial).rewound_to(*after), std::nullopt);
}

TEST(Attempts, an_old_snapshot_keeps_what_was_taken_back) {
  RestartedRun run;
  const Trial trial = run.open();
  const auto view = trial.view();
  const NoRefresh pinned(*view);
  WorkerWriter second = run.restart();
  RestartedRun::save(second, {0, 1}, 2);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_THAT(view->steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(view->tensor("w").value(1).at(0), 1);
  EXPECT_EQ(trial.tensor("w").value(1).at(0), 2);
}

TEST(Attempts, one_worker_may_go_back_alone) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0, 1, 2, 3});
  b.save_steps({0, 1, 2, 3});
  const Trial trial = run.open();
  EXPECT_EQ(trial.last_complete_step(), 3);
  run.worker({"b", 2, 1}).save_steps({1});
  EXPECT_EQ(trial.last_complete_step(), 1);
  EXPECT_THAT(trial.steps(Mode::Global, true), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(trial.missing_workers(2), ElementsAre("b"));
}

TEST(Attempts, damage_in_an_earlier_one_is_reported_and_the_later_one_is_read) {
  RestartedRun run;
  run.first.seal();
  flip_bit(*run.store, run.first.index_key(), 900);
  WorkerWriter second = run.restart();
  RestartedRun::save(second, {0, 1}, 2);
  const Trial trial = run.open();
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(Attempts, notes_of_steps_taken_back_are_gone) {
  MemoryRun run;
  run.worker()
      .save(0, {raw("w", {1}), texts("cupel/note", {"kept"})})
      .save(1, {texts("cupel/note", {"gone"})});
  run.worker({"worker_0", 1, 1}).save(1, {raw("w", {1}), texts("cupel/note", {"new"})});
  const std::vector<Note> notes = run.open().notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].text, "kept");
  EXPECT_EQ(notes[1].text, "new");
}

}  // namespace
}  // namespace cupel::testing
