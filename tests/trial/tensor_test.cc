#include "cupel/trial/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Step 0 holds a tensor of each kind; step 10 holds others only; step 20 ends what there is.
struct AllKinds : MemoryRun {
  WorkerWriter writer = worker();
  AllKinds() {
    writer.save(
        0, {raw("raw", {1, 2, 6}), reduced("reduced", "mean", 4), only_shape("shape", {2, 3}),
            raw("both", {1, 2, 3}).with("mean", 99), reduced("reduced_shape", "max", 5).shaped({4}),
            filled("large", 1000, 0.5F).shaped({10, 100})});
    writer.save(10, {raw("other", {1})});
    writer.save(20, {raw("other", {1})});
  }
};

bool has_reductions(const Tensor& tensor) {
  try {
    static_cast<void>(tensor.value(0));
  } catch (const TensorUnavailableForStep& error) {
    EXPECT_EQ(error.name, tensor.name());
    EXPECT_EQ(error.step, 0);
    return error.has_reductions;
  }
  ADD_FAILURE() << "the value is there";
  return false;
}

TEST(Tensor, saved_raw_has_its_value_its_shape_and_computed_reductions) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("raw");
  EXPECT_THAT(tensor.value(0).as<float>(), ElementsAre(1, 2, 6));
  EXPECT_EQ(tensor.reduction_value(0, "mean"), 3);
  EXPECT_EQ(tensor.reduction_value(0, "max", {.abs = true}), 6);
  EXPECT_TRUE(tensor.reduction_values(0).set.empty());
  EXPECT_EQ(tensor.shape(0), (Shape{3}));
}

TEST(Tensor, saved_as_reductions_has_only_those) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("reduced");
  EXPECT_TRUE(has_reductions(tensor));
  EXPECT_EQ(tensor.reduction_value(0, "mean"), 4);
  EXPECT_EQ(tensor.reduction_values(0).set.size(), 1U);
  EXPECT_THROW(tensor.reduction_value(0, "max"), TensorUnavailableForStep);
  EXPECT_THROW(tensor.reduction_value(0, "mean", {.abs = true}), TensorUnavailableForStep);
  EXPECT_THROW(tensor.shape(0), ShapeUnavailableForStep);
}

TEST(Tensor, saved_as_a_shape_has_only_that) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("shape");
  EXPECT_FALSE(has_reductions(tensor));
  EXPECT_THROW(tensor.reduction_value(0, "mean"), TensorUnavailableForStep);
  EXPECT_EQ(tensor.shape(0), (Shape{2, 3}));
}

TEST(Tensor, saved_raw_and_reduced_gives_the_saved_reduction_before_computing_one) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("both");
  EXPECT_EQ(tensor.reduction_value(0, "mean"), 99);
  EXPECT_EQ(tensor.reduction_value(0, "max"), 3);
}

TEST(Tensor, saved_as_shape_and_reductions_has_both) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("reduced_shape");
  EXPECT_TRUE(has_reductions(tensor));
  EXPECT_EQ(tensor.reduction_value(0, "max"), 5);
  EXPECT_THROW(tensor.reduction_value(0, "min"), TensorUnavailableForStep);
  EXPECT_EQ(tensor.shape(0), (Shape{4}));
}

TEST(Tensor, is_unavailable_for_a_step_that_holds_only_others) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("raw");
  EXPECT_THROW(tensor.value(10), TensorUnavailableForStep);
  EXPECT_THROW(tensor.reduction_value(10, "mean"), TensorUnavailableForStep);
  EXPECT_THROW(tensor.shape(10), TensorUnavailableForStep);
  EXPECT_THROW(tensor.workers(10), TensorUnavailableForStep);
  EXPECT_THAT(tensor.records(10), IsEmpty());
}

TEST(Tensor, knows_steps_that_the_run_has_passed) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("raw");
  EXPECT_THROW(tensor.value(5), StepUnavailable);
  EXPECT_THROW(tensor.reduction_value(5, "mean"), StepUnavailable);
  EXPECT_THROW(tensor.shape(5), StepUnavailable);
  EXPECT_THROW(tensor.value(5, Mode::Train), StepUnavailable);
}

TEST(Tensor, knows_steps_that_may_still_come) {
  AllKinds run;
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("raw");
  EXPECT_THROW(tensor.value(21), StepNotYetAvailable);
  EXPECT_THROW(tensor.shape(21), StepNotYetAvailable);
  EXPECT_THROW(tensor.value(0, Mode::Eval), StepNotYetAvailable);
}

TEST(Tensor, knows_steps_that_will_never_come) {
  AllKinds run;
  run.writer.finish();
  const Trial trial = run.open();
  const Tensor tensor = trial.tensor("raw");
  try {
    static_cast<void>(tensor.value(21));
    FAIL();
  } catch (const NoMoreData& end) {
    EXPECT_EQ(end.last_step, 20);
  }
  EXPECT_THROW(tensor.value(5), StepUnavailable);
}

TEST(Tensor, refuses_unknown_reductions) {
  AllKinds run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("raw").reduction_value(0, "average"), UsageError);
}

TEST(Tensor, reads_reductions_under_all_their_names) {
  MemoryRun run;
  run.worker().save(0, {reduced("t", "abs_mean", 2).with("l1", 3)});
  const Trial trial = run.open();
  EXPECT_EQ(trial.tensor("t").reduction_value(0, "abs_mean"), 2);
  EXPECT_EQ(trial.tensor("t").reduction_value(0, "mean", {.abs = true}), 2);
  EXPECT_EQ(trial.tensor("t").reduction_value(0, "l1_norm"), 3);
}

TEST(Tensor, reads_large_values_from_the_events_file) {
  AllKinds run;
  const Trial trial = run.open();
  const TensorValue value = trial.tensor("large").value(0);
  EXPECT_EQ(value.shape(), (Shape{10, 100}));
  EXPECT_EQ(value.as<float>().size(), 1000U);
  EXPECT_EQ(value.at(999), 0.5);
}

TEST(Tensor, values_leave_out_steps_without_one) {
  MemoryRun run;
  run.worker().save(0, {raw("t", {1})}).save(1, {reduced("t", "mean", 2)}).save(2, {raw("t", {3})});
  const Trial trial = run.open();
  const auto values = trial.tensor("t").values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values.at(2).at(0), 3);
  EXPECT_EQ(trial.tensor("t").shapes().size(), 2U);
}

TEST(Tensor, lists_its_steps) {
  AllKinds run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor("raw").steps(), ElementsAre(0));
  EXPECT_THAT(trial.tensor("other").steps(Mode::Train), ElementsAre(10, 20));
  EXPECT_THAT(trial.tensor("other").steps(Mode::Eval), IsEmpty());
}

TEST(Tensor, gives_the_last_steps_up_to_one) {
  MemoryRun run;
  run.worker().save_steps({0, 10, 20, 30});
  const Trial trial = run.open();
  const Tensor loss = trial.tensor("loss");
  EXPECT_THAT(loss.prev_steps(20, 2), ElementsAre(10, 20));
  EXPECT_THAT(loss.prev_steps(25, 2), ElementsAre(10, 20));
  EXPECT_THAT(loss.prev_steps(20), ElementsAre(0, 10, 20));
  EXPECT_THAT(loss.prev_steps(20, 7, Mode::Train), ElementsAre(0, 10, 20));
  EXPECT_THAT(loss.prev_steps(20, 1, Mode::Train), ElementsAre(20));
}

TEST(Tensor, hides_its_incomplete_steps) {
  MemoryRun run;
  run.worker({"a", 2}).save_steps({0, 1, 2});
  run.worker({"b", 2}).save_steps({0});
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor("loss").steps(), ElementsAre(0));
  EXPECT_THAT(trial.tensor("loss").steps(Mode::Train, true), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial.tensor("loss").prev_steps(2), ElementsAre(0));
  EXPECT_EQ(trial.tensor("loss").value(2).at(0), 2);
}

/// The tensor has the worker's number as its value.
struct TwoWriters : MemoryRun {
  TwoWriters() {
    worker({"worker_2", 2}).save(0, {raw("t", {2})}).save(1, {raw("t", {2})});
    worker({"worker_10", 2})
        .save(0, {raw("t", {10}), raw("only_10", {1})})
        .save(1, {raw("only_10", {1})});
  }
};

TEST(Tensor, is_the_first_workers_unless_one_is_named) {
  TwoWriters run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.tensor("t").value(0).at(0), 2);
  EXPECT_EQ(trial.tensor("t").value(0, Mode::Global, "worker_10").at(0), 10);
  EXPECT_EQ(trial.tensor("only_10").value(0).at(0), 1);
}

TEST(Tensor, names_the_workers_that_saved_it) {
  TwoWriters run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor("t").workers(0), ElementsAre("worker_2", "worker_10"));
  EXPECT_THAT(trial.tensor("only_10").workers(1), ElementsAre("worker_10"));
}

TEST(Tensor, refuses_unknown_workers) {
  TwoWriters run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("t").value(0, Mode::Global, "worker_3"), InvalidWorker);
  EXPECT_THROW(trial.tensor("t").values(Mode::Global, "worker_3"), InvalidWorker);
}

TEST(Tensor, is_unavailable_from_a_worker_that_did_not_save_it) {
  TwoWriters run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("t").value(1, Mode::Global, "worker_10"), TensorUnavailableForStep);
}

TEST(Tensor, may_still_come_from_a_worker_that_is_behind) {
  MemoryRun run;
  run.worker({"a", 2}).save(0, {raw("t", {1})}).save(1, {raw("u", {1})});
  run.worker({"b", 2}).save(0, {raw("t", {1})});
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("t").value(1), StepNotYetAvailable);
  EXPECT_THROW(trial.tensor("t").value(1, Mode::Global, "b"), StepNotYetAvailable);
  EXPECT_THROW(trial.tensor("t").value(1, Mode::Global, "a"), TensorUnavailableForStep);
}

TEST(Tensor, records_hold_what_the_index_does) {
  MemoryRun run;
  run.worker().save(
      {8, Mode::Eval, 3},
      {raw("t", {1, 0}).with("max", 1).with(ValueCounts{.zero = 1}), reduced("r", "min", -1)});
  const Trial trial = run.open();
  const TensorRecord record = trial.tensor("t").record(3, Mode::Eval);
  EXPECT_EQ(record.step, 8);
  EXPECT_EQ(record.mode, Mode::Eval);
  EXPECT_EQ(record.mode_step, 3);
  EXPECT_EQ(record.worker, "worker_0");
  EXPECT_EQ(record.elements, 2);
  EXPECT_TRUE(record.has_value);
  EXPECT_EQ(record.shape, (Shape{2}));
  EXPECT_EQ(record.counts->zero, 1);
  EXPECT_EQ(record.reductions.get({ReductionOp::Max}), 1);
  const TensorRecord other = trial.tensor("r").record(8);
  EXPECT_FALSE(other.has_value);
  EXPECT_FALSE(other.shape.has_value());
  EXPECT_FALSE(other.counts.has_value());
  EXPECT_EQ(other.reductions.set.size(), 1U);
}

TEST(Tensor, records_hold_how_many_bytes_the_values_have) {
  MemoryRun run;
  run.worker().save(0, {raw("inline", {1, 0}), filled("stored", 20, 1), reduced("none", "min", -1),
                        texts("text", {"abc"}), texts("texts", {"abc", "", "d"})});
  const Trial trial = run.open();
  const auto bytes = [&](const char* name) { return trial.tensor(name).record(0).bytes; };
  EXPECT_EQ(bytes("inline"), 8);
  EXPECT_EQ(bytes("stored"), 80);
  EXPECT_EQ(bytes("none"), 0);
  // With an offset of 8 bytes before each, and one behind the last.
  EXPECT_EQ(bytes("text"), 16 + 3);
  EXPECT_EQ(bytes("texts"), 32 + 4);
}

TEST(Tensor, records_are_in_the_order_of_the_workers) {
  TwoWriters run;
  const Trial trial = run.open();
  const std::vector<TensorRecord> records = trial.tensor("t").records(0);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].worker, "worker_2");
  EXPECT_EQ(records[1].worker, "worker_10");
}

TEST(Tensor, records_keep_their_workers_name_while_the_run_goes_on) {
  MemoryRun run;
  WorkerWriter writer = run.worker({"a_worker_with_a_rather_long_name"});
  writer.save_steps({0});
  const Trial trial = run.open();
  const TensorRecord record = trial.tensor("loss").record(0);
  writer.save_steps({1});
  trial.refresh();
  EXPECT_EQ(record.worker, "a_worker_with_a_rather_long_name");
}

TEST(Tensor, with_saved_counts_of_zero_has_counts) {
  MemoryRun run;
  run.worker().save(0, {raw("t", {1}).with(ValueCounts{})});
  const Trial trial = run.open();
  EXPECT_EQ(trial.tensor("t").record(0).counts, ValueCounts{});
}

TEST(Tensor, may_change_its_shape_between_steps) {
  MemoryRun run;
  run.worker()
      .save(0, {raw("t", {1, 2})})
      .save(1, {raw("t", {1, 2, 3})})
      .save(2, {raw("t", {1, 2})});
  const Trial trial = run.open();
  EXPECT_EQ(trial.tensor("t").shape(1), (Shape{3}));
  EXPECT_EQ(trial.tensor("t").shape(2), (Shape{2}));
}

TEST(Tensor, of_text_has_no_reductions) {
  MemoryRun run;
  run.worker().save(0, {texts("words", {"a", "", "longer"})});
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor("words").value(0).strings(), ElementsAre("a", "", "longer"));
  EXPECT_THROW(trial.tensor("words").reduction_value(0, "mean"), TensorUnavailableForStep);
}

TEST(Tensor, may_be_empty) {
  MemoryRun run;
  run.worker().save(0, {raw("t", {}).shaped({0, 4})});
  const Trial trial = run.open();
  EXPECT_EQ(trial.tensor("t").value(0).elements(), 0);
  EXPECT_EQ(trial.tensor("t").shape(0), (Shape{0, 4}));
}

}  // namespace
}  // namespace cupel::testing
