#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three workers a, b, c, as in the table of complete steps.
struct ThreeWorkers : MemoryRun {
  WorkerWriter a = worker({"a", 3}), b = worker({"b", 3}), c = worker({"c", 3});

  void all(std::initializer_list<std::int64_t> steps) {
    a.save_steps(steps);
    b.save_steps(steps);
    c.save_steps(steps);
  }
  void without_b(std::initializer_list<std::int64_t> steps) {
    a.save_steps(steps);
    c.save_steps(steps);
  }
  void finish() {
    for (WorkerWriter* one : {&a, &b, &c}) one->close();
    end();
  }
};

TEST(TrialSteps, every_step_is_complete_when_all_workers_wrote_it) {
  ThreeWorkers run;
  run.all({0, 1, 2, 3, 4, 5, 6});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(trial.last_complete_step(), 6);
  EXPECT_EQ(trial.has_passed_step(4), StepState::Available);
  EXPECT_EQ(trial.has_passed_step(8), StepState::NotYetAvailable);
}

TEST(TrialSteps, steps_that_a_worker_has_not_reached_are_hidden) {
  ThreeWorkers run;
  run.all({0, 1, 2});
  run.without_b({3, 4, 5, 6});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial.steps(Mode::Global, true), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(trial.last_complete_step(), 2);
  EXPECT_EQ(trial.has_passed_step(4), StepState::NotYetAvailable);
  EXPECT_EQ(trial.has_passed_step(8), StepState::NotYetAvailable);
}

TEST(TrialSteps, the_end_of_the_run_completes_all_steps) {
  ThreeWorkers run;
  run.all({0, 1, 2});
  run.without_b({3, 4, 5, 6});
  run.finish();
  const Trial trial = run.open();
  EXPECT_TRUE(trial.ended());
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(trial.last_complete_step(), 6);
  EXPECT_EQ(trial.has_passed_step(4), StepState::Available);
  EXPECT_EQ(trial.has_passed_step(8), StepState::Unavailable);
}

TEST(TrialSteps, a_step_that_all_workers_have_passed_is_complete_whoever_saved_it) {
  ThreeWorkers run;
  run.all({0, 1, 2});
  run.without_b({3, 4, 5});
  run.all({6});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(trial.last_complete_step(), 6);
  EXPECT_EQ(trial.has_passed_step(4), StepState::Available);
  EXPECT_EQ(trial.has_passed_step(8), StepState::NotYetAvailable);
}

TEST(TrialSteps, a_step_nobody_saved_is_unavailable_once_all_have_passed_it) {
  ThreeWorkers run;
  run.all({0, 1, 2});
  run.without_b({4, 5});
  run.all({6});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_EQ(trial.has_passed_step(4), StepState::Available);
  EXPECT_EQ(trial.has_passed_step(3), StepState::Unavailable);
  EXPECT_EQ(trial.has_passed_step(8), StepState::NotYetAvailable);
}

TEST(TrialSteps, a_step_nobody_saved_may_come_while_a_worker_is_before_it) {
  ThreeWorkers run;
  run.all({0, 1, 2});
  run.without_b({4, 5, 6});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.last_complete_step(), 2);
  EXPECT_EQ(trial.has_passed_step(4), StepState::NotYetAvailable);
  EXPECT_EQ(trial.has_passed_step(3), StepState::NotYetAvailable);
  EXPECT_EQ(trial.has_passed_step(8), StepState::NotYetAvailable);
}

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

TEST(TrialSteps, workers_missing_at_a_step_are_named) {
  ThreeWorkers run;
  run.all({0});
  run.without_b({1});
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

TEST(TrialSteps, has_passed_step_knows_what_lies_between_saved_steps) {
  TrainThenEval run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.has_passed_step(20, Mode::Train), StepState::Available);
  EXPECT_EQ(trial.has_passed_step(23, Mode::Train), StepState::Unavailable);
  EXPECT_EQ(trial.has_passed_step(40, Mode::Train), StepState::NotYetAvailable);
  EXPECT_EQ(trial.has_passed_step(80), StepState::NotYetAvailable);
}

TEST(TrialSteps, after_the_end_nothing_is_still_to_come) {
  TrainThenEval run;
  run.writer.finish();
  const Trial trial = run.open();
  EXPECT_EQ(trial.has_passed_step(23, Mode::Train), StepState::Unavailable);
  EXPECT_EQ(trial.has_passed_step(40, Mode::Train), StepState::Unavailable);
  EXPECT_EQ(trial.has_passed_step(80), StepState::Unavailable);
}

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
