#include "cupel/trial/run_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "trial/two_runs.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<DifferenceKind> kinds(const RunComparison& found) {
  std::vector<DifferenceKind> kinds;
  for (const RunDifference& one : found.differences) kinds.push_back(one.kind);
  return kinds;
}
std::vector<std::string> places(const RunComparison& found) {
  std::vector<std::string> places;
  for (const RunDifference& one : found.differences)
    places.push_back(std::to_string(one.step) + " " + one.tensor + " " + one.worker);
  return places;
}

TEST(RunDifference, runs_that_hold_the_same_agree) {
  TwoRuns runs;
  for (WorkerWriter* run : {&runs.a, &runs.b})
    run->save(0, {filled("w", 100, 1), scalar("loss", 0.5)}).save(1, {scalar("loss", 0.25)});
  runs.finish();
  const RunComparison found = runs.compare();
  EXPECT_TRUE(found.same());
  EXPECT_TRUE(found.complete);
  EXPECT_FALSE(found.nothing_compared());
  EXPECT_EQ(found.steps, 2);
  EXPECT_EQ(found.tensors, 3);
  EXPECT_EQ(found.steps_before, 2);
  EXPECT_EQ(found.tensors_before, 3);
  EXPECT_EQ(found.agreements.values, 2);
  EXPECT_EQ(found.agreements.checksums, 1);
}

TEST(RunDifference, the_first_element_that_differs_is_reported) {
  TwoRuns runs;
  runs.a.save(0, {scalar("loss", 1), filled("w", 3, 1)});
  runs.b.save(0, {scalar("loss", 1), filled("w", 3, 1)});
  runs.a.save(5, {scalar("loss", 1), raw("w", {1, 2, 3, 4, 5, 6}).shaped({2, 3})});
  runs.b.save(5, {scalar("loss", 1), raw("w", {1, 2, 3, 4, 5.5, 9}).shaped({2, 3})});
  runs.finish();
  const RunComparison found = runs.compare();
  ASSERT_THAT(kinds(found), ElementsAre(DifferenceKind::Element));
  const RunDifference& one = found.differences.front();
  EXPECT_EQ(one.step, 5);
  EXPECT_EQ(one.tensor, "w");
  EXPECT_EQ(one.worker, "worker_0");
  EXPECT_THAT(one.index, ElementsAre(1, 1));
  expect_number(one.a->value, 5.0);
  expect_number(one.b->value, 5.5);
  EXPECT_EQ(one.compared, 6);
  EXPECT_EQ(one.differing, 2);
  EXPECT_EQ(one.difference, 0.5);
  EXPECT_EQ(one.greatest_difference, 3);
  EXPECT_EQ(found.steps_before, 1);
  EXPECT_EQ(found.tensors_before, 3);
  EXPECT_FALSE(found.complete);
}

TEST(RunDifference, differences_come_by_step_then_name_then_worker) {
  MemoryRun runs[2];
  for (int i = 0; i < 2; ++i) {
    const auto value = static_cast<double>(i);
    for (const char* name : {"worker_10", "worker_2"}) {
      WorkerWriter worker = runs[i].worker({name, 2});
      worker.save(0, {scalar("b", value), scalar("a", value)}).save(1, {scalar("a", value)});
      worker.close();
    }
    runs[i].end();
  }
  const RunComparison found = compare_runs(runs[0].open(), runs[1].open(), {.limit = 0});
  EXPECT_THAT(places(found), ElementsAre("0 a worker_2", "0 a worker_10", "0 b worker_2",
                                         "0 b worker_10", "1 a worker_2", "1 a worker_10"));
  EXPECT_TRUE(found.complete);
}

TEST(RunDifference, no_more_are_searched_for_than_the_limit) {
  TwoRuns runs;
  for (int step = 0; step < 5; ++step) {
    runs.a.save(step, {scalar("loss", 1)});
    runs.b.save(step, {scalar("loss", 2)});
  }
  runs.finish();
  EXPECT_THAT(places(runs.compare({.limit = 2})),
              ElementsAre("0 loss worker_0", "1 loss worker_0"));
  EXPECT_EQ(runs.compare({.limit = 0}).differences.size(), 5U);
}

TEST(RunDifference, a_step_may_be_in_one_run_only) {
  TwoRuns runs;
  runs.a.save_steps({0, 1, 2, 3});
  runs.b.save_steps({0, 2});
  runs.finish();
  const RunComparison found = runs.compare({.limit = 0});
  ASSERT_THAT(places(found), ElementsAre("1  ", "3  "));
  EXPECT_THAT(kinds(found), ElementsAre(DifferenceKind::Step, DifferenceKind::Step));
  EXPECT_TRUE(found.differences[0].a);
  EXPECT_FALSE(found.differences[0].b);
  EXPECT_EQ(found.steps, 2);
}

TEST(RunDifference, a_tensor_may_be_in_one_run_only) {
  TwoRuns runs;
  runs.a.save(0, {scalar("a", 1), scalar("c", 1)});
  runs.b.save(0, {scalar("b", 1), scalar("c", 1)});
  runs.finish();
  const RunComparison found = runs.compare({.limit = 0});
  EXPECT_THAT(kinds(found), ElementsAre(DifferenceKind::Tensor, DifferenceKind::Tensor));
  ASSERT_THAT(places(found), ElementsAre("0 a worker_0", "0 b worker_0"));
  EXPECT_TRUE(found.differences[0].a && !found.differences[0].b);
  EXPECT_TRUE(found.differences[1].b && !found.differences[1].a);
  EXPECT_EQ(found.tensors, 1);
}

TEST(RunDifference, a_worker_that_a_run_does_not_have_is_reported_once) {
  TwoRuns runs;
  WorkerWriter other = runs.a_run.worker({"worker_1", 2});
  WorkerWriter first = runs.a_run.worker({"worker_0", 2});
  for (int step = 0; step < 3; ++step) {
    other.save(step, {scalar("x", 1), scalar("y", 1)});
    first.save(step, {scalar("x", 1)});
    runs.b.save(step, {scalar("x", 1)});
  }
  first.close();
  other.finish();
  runs.b.finish();
  const RunComparison found = runs.compare({.limit = 0});
  EXPECT_THAT(kinds(found), ElementsAre(DifferenceKind::Worker));
  EXPECT_THAT(places(found), ElementsAre("0  worker_1"));
  EXPECT_EQ(found.tensors, 3);
}

TEST(RunDifference, a_worker_that_left_out_steps_is_reported_at_each) {
  MemoryRun runs[2];
  for (int i = 0; i < 2; ++i) {
    WorkerWriter first = runs[i].worker({"worker_0", 2}), second = runs[i].worker({"worker_1", 2});
    first.save_steps({0, 1, 2});
    if (i == 0) second.save_steps({0, 1, 2});
    if (i == 1) second.save_steps({1});
    first.close();
    second.finish();
  }
  EXPECT_THAT(places(compare_runs(runs[0].open(), runs[1].open(), {.limit = 0})),
              ElementsAre("0  worker_1", "2  worker_1"));
}

TEST(RunDifference, a_step_may_be_of_another_mode) {
  TwoRuns runs;
  runs.a.save(At(0, Mode::Train, 0), {scalar("loss", 1)});
  runs.b.save(At(0, Mode::Eval, 0), {scalar("loss", 2)});
  runs.finish();
  const RunComparison found = runs.compare({.limit = 0});
  EXPECT_THAT(kinds(found), ElementsAre(DifferenceKind::Mode, DifferenceKind::Element));
  EXPECT_EQ(found.differences[0].a->mode, Mode::Train);
  EXPECT_EQ(found.differences[0].b->mode, Mode::Eval);
}

/// Two runs whose values in events files are counted as they are read.
struct WatchedRuns : TwoRuns {
  mutable int reads = 0;
  RunComparison compare(const RunComparisonOptions& options = {}) const {
    const auto open = [this](const MemoryRun& run) {
      const auto store = std::make_shared<StoreWrapper>(run.store);
      store->before_get_range = [this](std::string_view key) {
        if (key.starts_with("events/")) ++reads;
      };
      return std::make_unique<Trial>(store);
    };
    return compare_runs(*open(a_run), *open(b_run), options);
  }
};

TEST(RunDifference, what_agrees_by_checksum_is_not_read) {
  WatchedRuns runs;
  for (WorkerWriter* run : {&runs.a, &runs.b})
    run->save(0, {filled("w", 100, 1).with("mean", 1), filled("v", 100, 2)});
  runs.finish();
  const RunComparison found = runs.compare();
  EXPECT_TRUE(found.same());
  EXPECT_EQ(runs.reads, 0);
  EXPECT_EQ(found.values_read, 0U);
  EXPECT_EQ(found.agreements.checksums, 2);
  EXPECT_TRUE(runs.compare({.rtol = 1e-6}).same());
  EXPECT_EQ(runs.reads, 0);
}

TEST(RunDifference, everything_is_read_when_asked_for) {
  WatchedRuns runs;
  for (WorkerWriter* run : {&runs.a, &runs.b})
    run->save(0, {filled("w", 100, 1), scalar("loss", 1)});
  runs.finish();
  const RunComparison found = runs.compare({.read_all_values = true});
  EXPECT_EQ(runs.reads, 2);
  EXPECT_EQ(found.values_read, 2U);
  EXPECT_EQ(found.bytes_read, 800U);
  EXPECT_EQ(found.agreements.values, 2);
}

TEST(RunDifference, where_statistics_doubt_a_checksum_the_values_are_read) {
  WatchedRuns runs;
  runs.a.save(0, {filled("w", 100, 1).with("mean", 1)});
  runs.b.save(0, {filled("w", 100, 1).with("mean", 2)});
  runs.finish();
  EXPECT_TRUE(runs.compare().same());
  EXPECT_EQ(runs.reads, 2);
}

TEST(RunDifference, only_what_differs_is_read) {
  WatchedRuns runs;
  runs.a.save(0, {filled("v", 100, 1), filled("w", 100, 1)});
  runs.b.save(0, {filled("v", 100, 1), filled("w", 100, 1.5)});
  runs.finish();
  EXPECT_EQ(runs.compare().differences.front().differing, 100);
  EXPECT_EQ(runs.reads, 2);
  EXPECT_TRUE(runs.compare({.atol = 0.5}).same());
}

TEST(RunDifference, a_growing_run_is_compared_as_far_as_it_has_come) {
  TwoRuns runs;
  runs.a.save_steps({0, 1, 2, 3, 4}).finish();
  runs.b.save_steps({0, 1, 2});
  const RunComparison found = runs.compare();
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.steps, 3);
  EXPECT_EQ(found.steps_ahead_in_a, 2);
  EXPECT_EQ(found.steps_ahead_in_b, 0);
  runs.b.finish();
  EXPECT_THAT(places(runs.compare()), ElementsAre("3  "));
}

TEST(RunDifference, a_growing_run_has_passed_what_it_left_out) {
  TwoRuns runs;
  runs.a.save_steps({0, 1, 2});
  runs.b.save_steps({0, 2});
  EXPECT_THAT(places(runs.compare({.limit = 0})), ElementsAre("1  "));
}

TEST(RunDifference, a_run_without_a_step_yet_has_nothing_to_compare) {
  TwoRuns runs;
  runs.a.save_steps({0, 1});
  const RunComparison found = runs.compare();
  EXPECT_TRUE(found.nothing_compared());
  EXPECT_EQ(found.steps_ahead_in_a, 2);
}

TEST(RunDifference, pinned_views_are_compared_as_they_are_pinned) {
  TwoRuns runs;
  runs.a.save_steps({0, 1});
  runs.b.save_steps({0, 1});
  Trial a = runs.a_run.open();
  const Trial b = runs.b_run.open();
  const NoRefresh pin(a);
  runs.a.save(2, {scalar("loss", 1)});
  runs.b.save(2, {scalar("loss", 2)});
  EXPECT_TRUE(compare_runs(a, b).same());
}

TEST(RunDifference, of_several_attempts_the_last_is_compared) {
  TwoRuns runs;
  runs.a.save(0, {scalar("loss", 1)}).save(1, {scalar("loss", 7)});
  runs.a_run.worker({"worker_0", 1, 1}).save(1, {scalar("loss", 2)}).finish();
  runs.b.save(0, {scalar("loss", 1)}).save(1, {scalar("loss", 2)}).finish();
  EXPECT_TRUE(runs.compare().same());
  EXPECT_EQ(runs.compare().steps, 2);
}

TEST(RunDifference, only_selected_tensors_are_compared) {
  TwoRuns runs;
  runs.a.save(0, {scalar("a", 1), scalar("b", 1)}).save(1, {scalar("a", 1)});
  runs.b.save(0, {scalar("a", 2), scalar("b", 1)});
  runs.finish();
  const RunComparison found = runs.compare({.patterns = "b", .limit = 0});
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.steps, 1);
  EXPECT_EQ(found.tensors, 1);
}

TEST(RunDifference, a_tensor_is_compared_where_either_run_has_it_in_the_collection) {
  TwoRuns runs;
  runs.a.collection("mine", {"^a"}).save(0, {scalar("a", 1), scalar("b", 1), scalar("c", 1)});
  runs.b.collection("mine", {"^b"}).save(0, {scalar("a", 2), scalar("b", 2), scalar("c", 2)});
  runs.finish();
  EXPECT_THAT(places(runs.compare({.collections = {"mine"}, .limit = 0})),
              ElementsAre("0 a worker_0", "0 b worker_0"));
}

TEST(RunDifference, only_steps_of_the_range_and_the_mode_are_compared) {
  TwoRuns runs;
  for (int step = 0; step < 6; ++step) {
    const At at(step, step % 2 == 0 ? Mode::Train : Mode::Eval, step / 2);
    runs.a.save(at, {scalar("loss", 1)});
    runs.b.save(at, {scalar("loss", 2)});
  }
  runs.finish();
  EXPECT_THAT(places(runs.compare({.steps = {1, 3}, .limit = 0})),
              ElementsAre("1 loss worker_0", "2 loss worker_0"));
  EXPECT_THAT(places(runs.compare({.steps = {1, std::nullopt}, .mode = Mode::Train, .limit = 0})),
              ElementsAre("2 loss worker_0", "4 loss worker_0"));
}

TEST(RunDifference, progress_ends_with_everything_done) {
  TwoRuns runs;
  for (WorkerWriter* run : {&runs.a, &runs.b})
    run->save(0, {scalar("a", 1), scalar("b", 1)}).save(1, {scalar("a", 1)});
  runs.finish();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  EXPECT_TRUE(
      runs.compare({.progress = [&told](std::uint64_t done,
                                        std::uint64_t total) { told.emplace_back(done, total); }})
          .same());
  EXPECT_THAT(told, ElementsAre(std::pair(4U, 6U), std::pair(6U, 6U)));
}

TEST(RunDifference, a_damaged_value_is_an_error_with_its_run) {
  TwoRuns runs;
  runs.a.save(0, {filled("w", 100, 1)}).finish();
  runs.b.save(0, {filled("w", 100, 2)}).finish();
  flip_bit(*runs.b_run.store, runs.b.events_key(), runs.b.last_location().offset);
  try {
    runs.compare();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, runs.b_run.store->location() + "/" + runs.b.events_key());
    EXPECT_EQ(error.offset, runs.b.last_location().offset);
    EXPECT_THAT(error.what(), HasSubstr("checksum"));
  }
}

TEST(RunDifference, a_missing_events_file_is_an_error_where_it_is_needed) {
  TwoRuns runs;
  runs.a.save(0, {filled("w", 100, 1)}).finish();
  runs.b.save(0, {filled("w", 100, 1)}).finish();
  runs.b_run.store->remove(runs.b.events_key());
  EXPECT_TRUE(runs.compare().same());
  EXPECT_THROW(runs.compare({.read_all_values = true}), TensorUnavailableForStep);
}

TEST(RunDifference, the_tensors_of_hooks_themselves_are_not_compared) {
  TwoRuns runs;
  runs.a.save(0, {scalar("cupel/overhead", 0.1), scalar("loss", 1)});
  runs.b.save(0, {scalar("cupel/overhead", 0.2), scalar("loss", 1)});
  runs.finish();
  const RunComparison found = runs.compare();
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.tensors, 1);
}

}  // namespace
}  // namespace cupel::testing
