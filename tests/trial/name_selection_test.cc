#include "cupel/trial/name_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// What a visitor is shown, each as "step tensor worker".
struct Seen {
  std::vector<std::string> rows;
  Trial::RecordVisitor visitor() {
    return [this](const RecordView& record) {
      rows.push_back(std::to_string(record.step()) + " " + record.tensor() + " " +
                     std::string(record.worker()));
    };
  }
};

std::vector<std::string> at(const Trial& trial, std::int64_t step, NameSelection& selection,
                            Mode mode = Mode::Global) {
  Seen seen;
  const std::size_t visited = trial.visit_step(step, selection, seen.visitor(), mode);
  EXPECT_EQ(visited, seen.rows.size());
  return seen.rows;
}

struct SmallRun : MemoryRun {
  WorkerWriter writer = worker();
  SmallRun() {
    writer.collection("gradients", {"^g"}).collection("weights", {}, {"w1"});
    writer.save(0, {raw("g1", {1}), raw("g2", {1}), raw("w1", {1}), raw("loss", {1})});
    writer.save({1, Mode::Eval, 0}, {raw("w1", {1})});
  }
};

TEST(NameSelection, selects_everything_by_default) {
  const SmallRun run;
  NameSelection all;
  EXPECT_THAT(at(run.open(), 0, all),
              ElementsAre("0 g1 worker_0", "0 g2 worker_0", "0 loss worker_0", "0 w1 worker_0"));
}

TEST(NameSelection, selects_what_joins_a_collection_while_it_is_used) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.collection("mine", {});
  writer.save(0, {raw("a", {1}).joining({"mine"}), raw("b", {1})});
  const Trial trial = run.open();
  NameSelection mine({"mine"});
  EXPECT_THAT(at(trial, 0, mine), ElementsAre("0 a worker_0"));
  writer.save(1, {raw("a", {1}), raw("b", {1}).joining({"mine"})});
  trial.refresh();
  EXPECT_THAT(at(trial, 1, mine), ElementsAre("1 a worker_0", "1 b worker_0"));
  EXPECT_THAT(at(trial, 0, mine), ElementsAre("0 a worker_0", "0 b worker_0"));
}

TEST(NameSelection, selects_what_any_collection_or_pattern_does) {
  const SmallRun run;
  NameSelection some({"gradients", "weights"}, {"^lo", "2"});
  NameSelection weights({"weights"});
  const Trial trial = run.open();
  EXPECT_THAT(at(trial, 0, weights), ElementsAre("0 w1 worker_0"));
  EXPECT_THAT(at(trial, 1, weights), ElementsAre("1 w1 worker_0"));
  EXPECT_THAT(at(trial, 0, some),
              ElementsAre("0 g1 worker_0", "0 g2 worker_0", "0 loss worker_0", "0 w1 worker_0"));
  EXPECT_THAT(some.collections(), ElementsAre("gradients", "weights"));
  EXPECT_THAT(some.patterns().texts(), ElementsAre("^lo", "2"));
}

TEST(NameSelection, of_a_collection_that_the_run_lacks_selects_nothing) {
  const SmallRun run;
  NameSelection none({"biases"});
  EXPECT_THAT(at(run.open(), 0, none), IsEmpty());
}

TEST(NameSelection, selects_names_that_appear_later) {
  SmallRun run;
  NameSelection gradients({"gradients"});
  const Trial trial = run.open();
  EXPECT_THAT(at(trial, 1, gradients), IsEmpty());
  run.writer.save(2, {raw("g1", {1}), raw("g1b", {1}), raw("x", {1})});
  EXPECT_THAT(at(trial, 2, gradients), ElementsAre("2 g1 worker_0", "2 g1b worker_0"));
}

TEST(NameSelection, follows_the_collections_of_the_run) {
  SmallRun run;
  NameSelection selection({"weights", "late"});
  const Trial trial = run.open();
  EXPECT_THAT(at(trial, 0, selection), ElementsAre("0 w1 worker_0"));
  run.writer.collection("late", {"loss"}).save_steps({2});
  EXPECT_THAT(at(trial, 2, selection), ElementsAre("2 loss worker_0"));
  EXPECT_THAT(at(trial, 0, selection), ElementsAre("0 loss worker_0", "0 w1 worker_0"));
}

TEST(NameSelection, starts_anew_with_another_run) {
  const SmallRun run;
  MemoryRun other;
  other.worker().collection("gradients", {"other"}).save(0, {raw("g1", {1}), raw("other", {1})});
  NameSelection gradients({"gradients"});
  EXPECT_THAT(at(run.open(), 0, gradients), ElementsAre("0 g1 worker_0", "0 g2 worker_0"));
  EXPECT_THAT(at(other.open(), 0, gradients), ElementsAre("0 other worker_0"));
}

TEST(NameSelection, is_resolved_for_each_combination_of_names) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.save(0, {raw("a", {1}), raw("b", {1})}).save(1, {raw("b", {1}), raw("c", {1})});
  writer.save(2, {raw("a", {1}), raw("b", {1})}).save(3, {raw("b", {1}), raw("c", {1})});
  NameSelection ends(std::vector<std::string>(), {"a|c"});
  const Trial trial = run.open();
  Seen seen;
  EXPECT_EQ(trial.visit_steps({}, ends, seen.visitor()), 4U);
  EXPECT_THAT(seen.rows,
              ElementsAre("0 a worker_0", "1 c worker_0", "2 a worker_0", "3 c worker_0"));
}

TEST(VisitStep, shows_what_the_index_holds) {
  MemoryRun run;
  run.worker().save({8, Mode::Eval, 3},
                    {raw("t", {1, 0}).with("max", 1).with(ValueCounts{.zero = 1}),
                     reduced("r", "min", -1), texts("words", {"x"})});
  const Trial trial = run.open();
  NameSelection all;
  trial.visit_step(8, all, [&](const RecordView& seen) {
    const TensorRecord record = trial.tensor(seen.tensor()).record(8);
    EXPECT_EQ(seen.step(), 8);
    EXPECT_EQ(seen.mode(), Mode::Eval);
    EXPECT_EQ(seen.mode_step(), 3);
    EXPECT_EQ(seen.worker(), record.worker);
    EXPECT_EQ(seen.dtype(), record.dtype);
    EXPECT_EQ(seen.elements(), record.elements);
    EXPECT_EQ(seen.has_value(), record.has_value);
    EXPECT_EQ(seen.counts(), record.counts);
    EXPECT_EQ(seen.reductions().set, record.reductions.set);
    EXPECT_EQ(seen.reduction({ReductionOp::Max}), record.reductions.get({ReductionOp::Max}));
    EXPECT_EQ(seen.record().shape, record.shape);
  });
}

/// What a reduction of each tensor's value is at step 0, asked of those whose names do not begin
/// with '_'.
std::map<std::string, std::optional<double>> computed(const Trial& trial, Reduction reduction) {
  NameSelection all;
  std::map<std::string, std::optional<double>> found;
  trial.visit_step(0, all, [&](const RecordView& record) {
    if (record.tensor().front() != '_') found[record.tensor()] = record.computed(reduction);
  });
  return found;
}

TEST(VisitStep, computes_from_values_wherever_they_are) {
  MemoryRun run;
  run.worker({"worker_0", 2})
      .save(0, {filled("a", 100, 1), filled("_passed", 100, 2), raw("inline", {3}),
                filled("large", 200'000, 4), filled("saved", 100, 5).with("max", -1),
                filled("z", 100, 6), texts("text", {"x"}), reduced("without", "min", 7)});
  run.worker({"worker_1", 2}).save(0, {filled("other", 100, 8)});
  const auto found = computed(run.open(), {ReductionOp::Max});
  EXPECT_THAT(found, ElementsAre(Pair("a", 1), Pair("inline", 3), Pair("large", 4),
                                 Pair("other", 8), Pair("saved", 5), Pair("text", std::nullopt),
                                 Pair("without", std::nullopt), Pair("z", 6)));
}

TEST(VisitStep, reads_values_that_are_asked_for_together) {
  struct Counting : StoreWrapper {
    using StoreWrapper::StoreWrapper;
    mutable int calls = 0;
    void get_ranges(std::string_view key, std::span<Range> ranges) const override {
      ++calls;
      StoreWrapper::get_ranges(key, ranges);
    }
  };
  MemoryRun run;
  std::vector<SavedTensor> tensors;
  for (int i = 0; i < 50; ++i) tensors.push_back(filled("t" + std::to_string(i), 100, 1));
  run.worker().save(0, tensors);
  const auto store = std::make_shared<Counting>(run.store);
  EXPECT_EQ(computed(Trial(store), {ReductionOp::Max}).size(), 50U);
  EXPECT_EQ(store->calls, 1);
}

TEST(VisitStep, a_damaged_value_harms_nobody_else) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.save(0, {filled("a", 100, 1), filled("b", 100, 2), filled("c", 100, 3)});
  flip_bit(*run.store, writer.events_key(), writer.last_location().offset);  // of c
  const Trial trial = run.open();
  NameSelection all;
  Names sound, damaged;
  trial.visit_step(0, all, [&](const RecordView& record) {
    try {
      EXPECT_TRUE(record.computed({ReductionOp::Max}));
      sound.push_back(record.tensor());
    } catch (const FormatError&) {
      damaged.push_back(record.tensor());
    }
  });
  EXPECT_THAT(sound, ElementsAre("a", "b"));
  EXPECT_THAT(damaged, ElementsAre("c"));
}

TEST(VisitStep, a_value_whose_file_is_missing_is_none) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.save(0, {filled("a", 100, 1), filled("b", 100, 2)});
  run.store->remove(writer.events_key());
  EXPECT_THAT(computed(run.open(), {ReductionOp::Max}),
              ElementsAre(Pair("a", std::nullopt), Pair("b", std::nullopt)));
}

TEST(VisitStep, finds_steps_of_a_mode) {
  const SmallRun run;
  NameSelection all;
  const Trial trial = run.open();
  EXPECT_THAT(at(trial, 0, all, Mode::Eval), ElementsAre("1 w1 worker_0"));
  EXPECT_THAT(at(trial, 1, all, Mode::Eval), IsEmpty());
}

TEST(VisitStep, shows_nothing_of_a_step_that_nobody_saved) {
  const SmallRun run;
  NameSelection all;
  const Trial trial = run.open();
  EXPECT_THAT(at(trial, 5, all), IsEmpty());
  EXPECT_THAT(at(trial, -1, all), IsEmpty());
}

TEST(VisitStep, shows_tensors_by_name_and_workers_by_number) {
  MemoryRun run;
  run.worker({"worker_10", 2}).save(0, {raw("t", {1}), raw("a", {1})});
  run.worker({"worker_2", 2}).save(0, {raw("t", {1}), raw("u", {1})});
  NameSelection all;
  EXPECT_THAT(at(run.open(), 0, all),
              ElementsAre("0 a worker_10", "0 t worker_2", "0 t worker_10", "0 u worker_2"));
}

TEST(VisitStep, shows_an_incomplete_step_that_is_asked_for) {
  MemoryRun run;
  run.worker({"a", 2}).save_steps({0, 1});
  run.worker({"b", 2}).save_steps({0});
  NameSelection all;
  const Trial trial = run.open();
  EXPECT_THAT(at(trial, 1, all), ElementsAre("1 loss a"));
  Seen seen;
  trial.visit_steps({}, all, seen.visitor());
  EXPECT_THAT(seen.rows, ElementsAre("0 loss a", "0 loss b"));
}

TEST(VisitStep, shows_nothing_behind_a_pin) {
  SmallRun run;
  Trial trial = run.open();
  NameSelection weights({"weights"});
  const PinnedView pin(trial, RunFollower(trial).snapshot(), 0);
  EXPECT_THAT(at(trial, 1, weights), IsEmpty());
  Seen seen;
  trial.visit_steps({}, weights, seen.visitor());
  EXPECT_THAT(seen.rows, ElementsAre("0 w1 worker_0"));
}

TEST(VisitStep, leaves_out_the_tensors_of_the_hook_itself) {
  MemoryRun run;
  run.worker().save(0, {raw("a", {1}), scalar("cupel/overhead", 0.1), raw("z", {1})});
  NameSelection all;
  EXPECT_THAT(at(run.open(), 0, all), ElementsAre("0 a worker_0", "0 z worker_0"));
}

TEST(VisitSteps, keeps_to_its_range) {
  MemoryRun run;
  run.worker().save_steps({0, 10, 20, 30});
  const Trial trial = run.open();
  NameSelection all;
  Seen seen;
  EXPECT_EQ(trial.visit_steps({10, 30}, all, seen.visitor()), 2U);
  EXPECT_THAT(seen.rows, ElementsAre("10 loss worker_0", "20 loss worker_0"));
  EXPECT_EQ(trial.visit_steps({.end = 0}, all, seen.visitor()), 0U);
}

TEST(VisitStep, may_query_the_trial_while_the_run_goes_on) {
  SmallRun run;
  const Trial trial = run.open();
  NameSelection gradients({"gradients"});
  std::vector<double> values;
  trial.visit_step(0, gradients, [&](const RecordView& record) {
    run.writer.save(10 + static_cast<std::int64_t>(values.size()), {raw("g3", {1})});
    values.push_back(trial.tensor(record.tensor()).value(record.step()).at(0));
  });
  EXPECT_THAT(values, ElementsAre(1, 1));
  EXPECT_THAT(at(trial, 11, gradients), ElementsAre("11 g3 worker_0"));
}

}  // namespace
}  // namespace cupel::testing
