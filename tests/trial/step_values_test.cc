#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The first element of each value.
std::vector<double> first_of(const std::vector<TensorValue>& values) {
  std::vector<double> firsts;
  for (const TensorValue& value : values) firsts.push_back(value.at(0));
  return firsts;
}

/// A step of each kind of tensors, whose values say which they are.
struct Batch : MemoryRun {
  WorkerWriter writer = worker();
  Batch() {
    writer.collection("inputs", {"^image"});
    writer.save({5, Mode::Train, 2},
                {raw("image_10", {10}), raw("image_2", {2}), raw("labels_10", {110}),
                 raw("labels_9", {109}), filled("predictions", 100, 7), raw("w", {0}),
                 reduced("labels_11", "mean", 1)});
    writer.save({6, Mode::Eval, 0}, {raw("w", {0})});
  }
};

TEST(StepValues, are_ordered_by_their_numbers) {
  const Batch run;
  const Trial trial = run.open();
  EXPECT_THAT(first_of(trial.inputs(5)), ElementsAre(2, 10));
  EXPECT_THAT(first_of(trial.labels(5)), ElementsAre(109, 110));
  EXPECT_THAT(first_of(trial.predictions(5)), ElementsAre(7));
}

TEST(StepValues, may_be_asked_for_by_the_step_of_a_mode) {
  const Batch run;
  EXPECT_THAT(first_of(run.open().inputs(2, Mode::Train)), ElementsAre(2, 10));
}

TEST(StepValues, of_a_step_without_them_are_none) {
  const Batch run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.inputs(6), IsEmpty());
  EXPECT_THAT(trial.labels(0, Mode::Eval), IsEmpty());
}

TEST(StepValues, of_a_run_without_a_collection_of_inputs_are_none) {
  MemoryRun run;
  run.worker().save_steps({0});
  EXPECT_THAT(run.open().inputs(0), IsEmpty());
}

TEST(StepValues, of_a_step_that_is_not_there_say_so) {
  const Batch run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.inputs(3), StepUnavailable);
  EXPECT_THROW(trial.labels(7), StepNotYetAvailable);
  EXPECT_THROW(trial.predictions(0, Mode::Predict), StepNotYetAvailable);
}

TEST(StepValues, are_the_first_workers) {
  MemoryRun run;
  run.worker({"worker_10", 2}).save(0, {raw("labels", {10}), raw("labels_1", {11})});
  run.worker({"worker_2", 2}).save(0, {raw("labels", {2})});
  EXPECT_THAT(first_of(run.open().labels(0)), ElementsAre(2, 11));
}

}  // namespace
}  // namespace cupel::testing
