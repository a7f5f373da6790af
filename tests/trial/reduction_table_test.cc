#include "cupel/trial/reduction_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Reduction named(std::string_view name) { return require_reduction(name); }

/// The rows of a table, each as "step tensor worker".
std::vector<std::string> rows_of(const ReductionTable& table) {
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < table.rows(); ++row)
    rows.push_back(std::to_string(table.step[row]) + " " + table.tensors[table.tensor[row]] + " " +
                   table.workers[table.worker[row]]);
  return rows;
}

/// The values of one reduction, row after row; -1 where it was not saved.
std::vector<double> values_of(const ReductionTable& table, std::string_view reduction) {
  std::vector<double> values;
  for (std::size_t row = 0; row < table.rows(); ++row)
    values.push_back(table.value(row, named(reduction)).value_or(-1));
  return values;
}

/// Steps 0 and 1 hold "a" and "b" with means 10 * step + 1 and + 2.
struct SmallRun : MemoryRun {
  WorkerWriter writer = worker();
  SmallRun() {
    writer.collection("gradients", {"^b"});
    save(0);
    save(1);
  }
  void save(std::int64_t step) {
    const auto base = static_cast<double>(10 * step);
    writer.save(step, {reduced("b", "mean", base + 2), reduced("a", "mean", base + 1)});
  }
};

TEST(ReductionTable, has_a_row_for_each_step_and_tensor_in_order) {
  const SmallRun run;
  const ReductionTable table = run.open().reductions();
  EXPECT_THAT(rows_of(table),
              ElementsAre("0 a worker_0", "0 b worker_0", "1 a worker_0", "1 b worker_0"));
  EXPECT_THAT(values_of(table, "mean"), ElementsAre(1, 2, 11, 12));
  EXPECT_THAT(table.elements, ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(table.mode_step, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(table.mode[3], Mode::Train);
}

TEST(ReductionTable, has_columns_of_those_reductions_only_that_any_row_has) {
  MemoryRun run;
  run.worker()
      .save(0, {reduced("a", "mean", 1), reduced("b", "abs_max", 2)})
      .save(1, {reduced("c", "std", 3)});
  const Trial trial = run.open();
  const ReductionTable all = trial.reductions();
  ASSERT_THAT(all.reductions, SizeIs(3));
  EXPECT_EQ(all.reductions[0].reduction, named("mean"));
  EXPECT_EQ(all.reductions[2].reduction, named("abs_max"));
  EXPECT_EQ(all.find(named("min")), nullptr);
  const ReductionTable only_a = trial.reductions({.name = "a"});
  ASSERT_THAT(only_a.reductions, SizeIs(1));
  EXPECT_EQ(only_a.reductions[0].reduction, named("mean"));
}

TEST(ReductionTable, distinguishes_a_saved_nan_from_a_value_that_was_not_saved) {
  MemoryRun run;
  run.worker().save(0,
                    {reduced("a", "mean", kNaN), reduced("b", "max", 1), reduced("c", "mean", 2)});
  const ReductionTable table = run.open().reductions();
  const TableColumn<double>& mean = *table.find(named("mean"));
  EXPECT_TRUE(std::isnan(mean[0]));
  EXPECT_TRUE(std::isnan(mean[1]));
  EXPECT_EQ(mean[2], 2);
  EXPECT_TRUE(table.has(0, named("mean")));
  EXPECT_FALSE(table.has(1, named("mean")));
  EXPECT_TRUE(std::isnan(*table.value(0, named("mean"))));
  EXPECT_EQ(table.value(1, named("mean")), std::nullopt);
  EXPECT_EQ(table.value(1, named("min")), std::nullopt);
}

TEST(ReductionTable, fills_in_nan_where_a_segment_lacks_the_column) {
  MemoryRun run;
  run.worker().save(0, {reduced("a", "mean", 1)}).seal().save(1, {reduced("a", "max", 2)});
  const ReductionTable table = run.open().reductions();
  EXPECT_TRUE(std::isnan((*table.find(named("mean")))[1]));
  EXPECT_TRUE(std::isnan((*table.find(named("max")))[0]));
  EXPECT_THAT(values_of(table, "max"), ElementsAre(-1, 2));
}

TEST(ReductionTable, holds_the_counts_of_special_elements) {
  MemoryRun run;
  run.worker().save(0, {raw("a", {1}).with(ValueCounts{1, 2, 3, 4}),
                        raw("b", {1}).with(ValueCounts{}), reduced("c", "mean", 1)});
  const ReductionTable table = run.open().reductions();
  EXPECT_EQ(table.counts(0), (ValueCounts{1, 2, 3, 4}));
  EXPECT_EQ(table.counts(1), ValueCounts{});
  EXPECT_EQ(table.counts(2), std::nullopt);
  EXPECT_THAT(table.nan, ElementsAre(1, 0, 0));
  EXPECT_THAT(table.zero, ElementsAre(4, 0, 0));
}

TEST(ReductionTable, follows_what_changes_from_step_to_step) {
  MemoryRun run;
  run.worker()
      .save(0, {raw("a", {1, 2})})
      .save(1, {raw("a", {1, 2, 3})})
      .save(2, {raw("a", {1, 2, 3}), raw("Z", {1})})
      .save(3, {raw("a", {1, 2})});
  const ReductionTable table = run.open().reductions();
  EXPECT_THAT(table.tensors, ElementsAre("Z", "a"));
  EXPECT_THAT(table.tensor, ElementsAre(1, 1, 0, 1, 1));
  EXPECT_THAT(table.elements, ElementsAre(2, 3, 1, 3, 2));
}

TEST(ReductionTable, of_a_collection_or_of_names_holds_only_those) {
  const SmallRun run;
  const Trial trial = run.open();
  EXPECT_THAT(rows_of(trial.reductions({.collection = "gradients"})),
              ElementsAre("0 b worker_0", "1 b worker_0"));
  const ReductionTable a = trial.reductions({.name = {"^a", "nothing"}});
  EXPECT_THAT(rows_of(a), ElementsAre("0 a worker_0", "1 a worker_0"));
  EXPECT_THAT(a.tensors, ElementsAre("a"));
  EXPECT_THAT(values_of(a, "mean"), ElementsAre(1, 11));
}

TEST(ReductionTable, of_what_the_run_does_not_have_is_empty) {
  const SmallRun run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.reductions({.collection = "weights"}).rows(), 0U);
  EXPECT_EQ(trial.reductions({.name = "nothing"}).rows(), 0U);
  EXPECT_EQ(trial.reductions({.steps = {5, 9}}).rows(), 0U);
  EXPECT_EQ(trial.reductions({.mode = Mode::Eval}).rows(), 0U);
  EXPECT_THAT(trial.reductions({.mode = Mode::Eval}).reductions, IsEmpty());
}

TEST(ReductionTable, takes_no_unknown_worker_nor_two_selections) {
  const SmallRun run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.reductions({.worker = "worker_7"}), InvalidWorker);
  EXPECT_THROW(trial.reductions({.collection = "gradients", .name = "a"}), UsageError);
}

TEST(ReductionTable, of_a_range_begins_and_ends_with_it) {
  MemoryRun run;
  run.worker().save_steps({0, 10, 20, 30, 40});
  const Trial trial = run.open();
  EXPECT_THAT(trial.reductions({.steps = {10, 30}}).step, ElementsAre(10, 20));
  EXPECT_THAT(trial.reductions({.steps = {.begin = 25}}).step, ElementsAre(30, 40));
  EXPECT_THAT(trial.reductions({.steps = {.end = 1}}).step, ElementsAre(0));
  EXPECT_THAT(trial.reductions({.steps = {.end = 0}}).step, IsEmpty());
}

TEST(ReductionTable, of_a_mode_counts_its_steps) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  for (const std::int64_t step : {0, 1, 2, 3})
    writer.save({step, step % 2 == 0 ? Mode::Train : Mode::Eval, step / 2}, {scalar("loss", 0)});
  const Trial trial = run.open();
  const ReductionTable eval = trial.reductions({.mode = Mode::Eval});
  EXPECT_THAT(eval.step, ElementsAre(1, 3));
  EXPECT_THAT(eval.mode_step, ElementsAre(0, 1));
  EXPECT_THAT(trial.reductions({.steps = {.begin = 1}, .mode = Mode::Eval}).step, ElementsAre(3));
}

/// The mean says who saved it; "only_10" is worker_10's.
struct TwoWorkers : MemoryRun {
  WorkerWriter second = worker({"worker_2", 2}), tenth = worker({"worker_10", 2});
  TwoWorkers() {
    second.save(0, {reduced("t", "mean", 2), reduced("a", "mean", 2)});
    second.save(1, {reduced("t", "mean", 2)});
    tenth.save(0, {reduced("t", "mean", 10), reduced("only_10", "mean", 10)});
  }
};

TEST(ReductionTable, orders_the_rows_of_a_step_by_tensor_and_worker) {
  TwoWorkers run;
  run.tenth.save(1, {reduced("t", "mean", 10)});
  const ReductionTable table = run.open().reductions();
  EXPECT_THAT(rows_of(table), ElementsAre("0 a worker_2", "0 only_10 worker_10", "0 t worker_2",
                                          "0 t worker_10", "1 t worker_2", "1 t worker_10"));
  EXPECT_THAT(values_of(table, "mean"), ElementsAre(2, 10, 2, 10, 2, 10));
}

TEST(ReductionTable, interleaves_workers_that_saved_the_same_names) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  for (const std::int64_t step : {0, 1}) {
    a.save(step, {reduced("t", "mean", 1), reduced("u", "mean", 2), reduced("v", "mean", 3)});
    b.save(step, {raw("t", {4}), reduced("u", "mean", 5), reduced("v", "mean", 6)});
  }
  const ReductionTable table = run.open().reductions();
  EXPECT_THAT(values_of(table, "mean"), ElementsAre(1, -1, 2, 5, 3, 6, 1, -1, 2, 5, 3, 6));
  EXPECT_THAT(table.elements, ElementsAre(4, 1, 4, 4, 4, 4, 4, 1, 4, 4, 4, 4));
  EXPECT_THAT(table.worker, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(ReductionTable, of_a_worker_holds_what_it_saved) {
  TwoWorkers run;
  const ReductionTable table = run.open().reductions({.worker = "worker_10"});
  EXPECT_THAT(rows_of(table), ElementsAre("0 only_10 worker_10", "0 t worker_10"));
}

TEST(ReductionTable, hides_incomplete_steps_unless_asked_for) {
  TwoWorkers run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.reductions({.name = "^t$"}).step, ElementsAre(0, 0));
  EXPECT_THAT(trial.reductions({.name = "^t$", .show_incomplete_steps = true}).step,
              ElementsAre(0, 0, 1));
}

TEST(ReductionTable, is_kept_to_the_steps_that_the_trial_loads) {
  MemoryRun run;
  run.worker().save_steps({0, 1, 2, 3});
  EXPECT_THAT(run.open({.range_steps = {1, 3}}).reductions().step, ElementsAre(1, 2));
}

TEST(ReductionTable, of_a_pinned_view_ends_with_the_pin) {
  SmallRun run;
  Trial trial = run.open();
  {
    const PinnedView pin(trial, RunFollower(trial).snapshot(), 0);
    EXPECT_THAT(trial.reductions().step, ElementsAre(0, 0));
  }
  const NoRefresh pin(trial);
  run.save(2);
  EXPECT_THAT(trial.reductions().step, ElementsAre(0, 0, 1, 1));
}

TEST(ReductionTable, follows_the_run) {
  SmallRun run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.reductions().rows(), 4U);
  run.save(2);
  EXPECT_EQ(trial.reductions().rows(), 6U);
}

TEST(ReductionTable, shows_what_a_later_attempt_did_again) {
  MemoryRun run;
  run.worker()
      .save(0, {reduced("t", "mean", 1)})
      .save(1, {reduced("t", "mean", 1)})
      .save_steps({2});
  run.worker({"worker_0", 1, 1}).save(1, {reduced("t", "mean", 2)});
  EXPECT_THAT(values_of(run.open().reductions(), "mean"), ElementsAre(1, 2));
}

TEST(ReductionTable, leaves_out_the_tensors_of_the_hook_itself) {
  MemoryRun run;
  run.worker().save(0, {raw("a", {1}), scalar("cupel/overhead", 0.1), texts("cupel/note", {"{}"}),
                        raw("z", {1, 2})});
  const ReductionTable table = run.open().reductions();
  EXPECT_THAT(table.tensors, ElementsAre("a", "z"));
  EXPECT_THAT(table.elements, ElementsAre(1, 2));
}

TEST(ReductionTable, outlives_its_trial) {
  const SmallRun run;
  std::optional<ReductionTable> table;
  {
    const Trial trial = run.open();
    table = trial.reductions();
  }
  EXPECT_THAT(rows_of(*table), SizeIs(4));
}

TEST(ReductionTable, agrees_with_the_tensors_one_by_one) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  for (std::int64_t step = 0; step < 40; ++step) {
    for (WorkerWriter* writer : {&a, &b}) {
      std::vector<SavedTensor> tensors;
      for (std::int64_t i = 0; i < 6; ++i) {
        if ((step + i) % 5 == 0 && writer == &b) continue;
        const std::string name = "t" + std::to_string((i * 7 + step / 9) % 11);
        if (std::ranges::any_of(tensors, [&](const auto& other) { return other.name == name; }))
          continue;
        SavedTensor tensor = reduced(name, "mean", static_cast<double>(step * 100 + i));
        tensor.elements = 1 + (step / 3 + i) % 4;
        if (i % 3 == step % 3) tensor = std::move(tensor).with("l2", static_cast<double>(i));
        if (i % 2 == 0) tensor = std::move(tensor).with(ValueCounts{.zero = i});
        tensors.push_back(std::move(tensor));
      }
      writer->save(step, std::move(tensors));
      if (step % 7 == 6) writer->seal();
    }
  }
  Trial trial = run.open();
  const NoRefresh pinned(trial);  // nobody writes
  for (const char* pattern : {".", "[02468]$", "t1"}) {
    const ReductionTable table = trial.reductions({.name = pattern});
    std::size_t row = 0;
    for (const std::int64_t step : trial.steps()) {
      for (const std::string& name : trial.tensor_names({.step = step, .regex = pattern})) {
        for (const TensorRecord& record : trial.tensor(name).records(step)) {
          ASSERT_LT(row, table.rows());
          EXPECT_EQ(table.step[row], step);
          EXPECT_EQ(table.tensors[table.tensor[row]], name);
          EXPECT_EQ(table.workers[table.worker[row]], record.worker);
          EXPECT_EQ(table.elements[row], record.elements);
          EXPECT_EQ(table.counts(row), record.counts);
          for (std::size_t r = 0; r < Reduction::kCount; ++r)
            EXPECT_EQ(table.value(row, Reduction::at(r)), record.reductions.get(Reduction::at(r)));
          ++row;
        }
      }
    }
    EXPECT_EQ(row, table.rows());
  }
}

}  // namespace
}  // namespace cupel::testing
