#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/trial/run_follower.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three workers a, b, c.
struct ThreeWorkers : MemoryRun {
  WorkerWriter a = worker({"a", 3}), b = worker({"b", 3}), c = worker({"c", 3});
};

TEST(TrialSteps, nothing_is_complete_while_a_worker_has_not_appeared) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2});
  a.save_steps({0, 1, 2, 3});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), IsEmpty());
  EXPECT_THAT(trial.steps(Mode::Global, true), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(trial.last_complete_step(), -1);
}

TEST(TrialSteps, a_worker_that_has_closed_has_passed_everything) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0, 1, 2, 3});
  b.save_steps({0}).close();
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(trial.missing_workers(2), ElementsAre("b"));
}

TEST(TrialSteps, workers_are_listed_by_every_number_in_their_names) {
  MemoryRun run;
  WorkerWriter last = run.worker({"node10_rank0", 3}), middle = run.worker({"node2_rank10", 3}),
               first = run.worker({"node2_rank1", 3});
  for (WorkerWriter* worker : {&last, &middle, &first}) worker->save_steps({0}).close();
  run.worker({"node3_rank0", 3}).save_steps({1}).close();
  const Trial trial = run.open();
  EXPECT_THAT(trial.workers(),
              ElementsAre("node2_rank1", "node2_rank10", "node3_rank0", "node10_rank0"));
  EXPECT_THAT(trial.missing_workers(1), ElementsAre("node2_rank1", "node2_rank10", "node10_rank0"));
}

TEST(TrialSteps, those_from_a_step_on_are_the_end_of_all_of_them) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0, 10, 20, 30});
  b.save_steps({5, 10, 25});
  const Trial trial = run.open();
  EXPECT_THAT(RunFollower(trial).steps_from(0),
              ElementsAre(0, 5, 10, 20, 25));  // b has not come to 30
  EXPECT_THAT(RunFollower(trial).steps_from(10), ElementsAre(10, 20, 25));
  EXPECT_THAT(RunFollower(trial).steps_from(11), ElementsAre(20, 25));
  EXPECT_THAT(RunFollower(trial).steps_from(26), IsEmpty());
  EXPECT_THAT(RunFollower(trial).steps_from(-1), trial.steps());
}

TEST(TrialSteps, workers_missing_at_a_step_are_named) {
  ThreeWorkers run;
  run.a.save_steps({0, 1});
  run.b.save_steps({0});
  run.c.save_steps({0, 1});
  const Trial trial = run.open();
  EXPECT_THAT(trial.missing_workers(1), ElementsAre("b"));
  EXPECT_THAT(trial.missing_workers(0), IsEmpty());
  EXPECT_THAT(trial.missing_workers(7), IsEmpty());
}

/// TRAIN 0, 10, 20, 30 at the same global steps, then EVAL 0, 10, 20, 30 at global 40 … 70.
struct TrainThenEval : MemoryRun {
  WorkerWriter writer = worker();
  TrainThenEval() {
    for (const std::int64_t step : {0, 10, 20, 30})
      writer.save({step, Mode::Train, step}, {raw("w", {1}), raw("train_only", {1})});
    for (const std::int64_t step : {0, 10, 20, 30})
      writer.save({40 + step, Mode::Eval, step}, {raw("w", {1}), raw("eval_only", {1})});
  }
};

TEST(TrialSteps, steps_are_counted_per_mode_and_globally) {
  TrainThenEval run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(Mode::Train), ElementsAre(0, 10, 20, 30));
  EXPECT_THAT(trial.steps(Mode::Eval), ElementsAre(0, 10, 20, 30));
  EXPECT_THAT(trial.steps(), ElementsAre(0, 10, 20, 30, 40, 50, 60, 70));
  EXPECT_THAT(trial.steps(Mode::Predict), IsEmpty());
}

TEST(TrialSteps, modes_are_those_with_data) {
  TrainThenEval run;
  EXPECT_THAT(run.open().modes(), ElementsAre(Mode::Train, Mode::Eval));
}

TEST(TrialSteps, steps_without_a_mode_are_global_and_no_mode) {
  MemoryRun run;
  run.worker().save({3, Mode::Global, 3}, {raw("w", {1})});
  const Trial trial = run.open();
  EXPECT_THAT(trial.modes(), IsEmpty());
  EXPECT_THAT(trial.steps(), ElementsAre(3));
  EXPECT_EQ(trial.mode(3), Mode::Global);
}

TEST(TrialSteps, global_steps_and_steps_of_a_mode_are_translated) {
  TrainThenEval run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.mode(50), Mode::Eval);
  EXPECT_EQ(trial.mode_step(50), 10);
  EXPECT_EQ(trial.global_step(Mode::Eval, 10), 50);
  EXPECT_EQ(trial.global_step(Mode::Global, 50), 50);
}

TEST(TrialSteps, unknown_steps_translate_to_nothing) {
  TrainThenEval run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.mode(51), std::nullopt);
  EXPECT_EQ(trial.mode_step(51), std::nullopt);
  EXPECT_EQ(trial.global_step(Mode::Eval, 11), std::nullopt);
  EXPECT_EQ(trial.global_step(Mode::Predict, 0), std::nullopt);
}

TEST(TrialSteps, mode_steps_that_fall_are_still_found) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  for (const std::int64_t step : {0, 1, 2, 3})
    writer.save({step, Mode::Train, 3 - step}, {raw("w", {1})});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(Mode::Train), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(trial.global_step(Mode::Train, 3), 0);
  EXPECT_THAT(trial.tensor("w").prev_steps(2, 2, Mode::Train), ElementsAre(1, 2));
}

TEST(TrialSteps, trailing_numbers_order_the_workers) {
  MemoryRun run;
  for (const char* name : {"worker_10", "worker_2", "worker_1"})
    run.worker({name, 3}).save_steps({0});
  EXPECT_THAT(run.open().workers(), ElementsAre("worker_1", "worker_2", "worker_10"));
}

TEST(TrialSteps, a_run_that_went_on_with_fewer_workers_waits_only_for_those) {
  MemoryRun run;
  for (const char* name : {"w_0", "w_1", "w_2"}) run.worker({name, 3}).save_steps({0, 1, 2}).seal();
  for (const char* name : {"w_0", "w_1"}) run.worker({name, 2, 1}).save_steps({3, 4}).seal();
  const Trial trial = run.open();
  EXPECT_EQ(trial.num_workers(), 2);
  EXPECT_EQ(trial.last_complete_step(), 4);
}

}  // namespace
}  // namespace cupel::testing
