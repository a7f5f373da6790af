#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// relu and bias in TRAIN step 0; bias and acc in EVAL step 0.
struct NamedRun : MemoryRun {
  WorkerWriter writer = worker();
  NamedRun() {
    writer.collection("activations", {"relu"})
        .collection("listed", {}, {"bias"})
        .collection("nothing", {"none"});
    writer.save({0, Mode::Train, 0}, {raw("relu_1", {1}), raw("bias", {1})});
    writer.save({1, Mode::Eval, 0}, {raw("bias", {1}), raw("acc", {1})});
  }
};

TEST(TensorNames, are_all_names_sorted) {
  NamedRun run;
  EXPECT_THAT(run.open().tensor_names(), ElementsAre("acc", "bias", "relu_1"));
}

TEST(TensorNames, of_a_mode_are_those_seen_in_it) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.mode = Mode::Train}), ElementsAre("bias", "relu_1"));
  EXPECT_THAT(trial.tensor_names({.mode = Mode::Predict}), IsEmpty());
}

TEST(TensorNames, of_a_step_are_those_saved_there) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.step = 1}), ElementsAre("acc", "bias"));
  EXPECT_THAT(trial.tensor_names({.step = 0, .mode = Mode::Eval}), ElementsAre("acc", "bias"));
}

TEST(TensorNames, of_an_unseen_step_are_none) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.step = 7}), IsEmpty());
  EXPECT_THAT(trial.tensor_names({.step = 1, .mode = Mode::Eval}), IsEmpty());
}

TEST(TensorNames, are_searched_by_patterns) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.regex = "^b"}), ElementsAre("bias"));
  EXPECT_THAT(trial.tensor_names({.step = 0, .regex = {"relu*", "acc"}}), ElementsAre("relu_1"));
}

TEST(TensorNames, of_a_collection_are_listed_or_matched) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.collection = "activations"}), ElementsAre("relu_1"));
  EXPECT_THAT(trial.tensor_names({.step = 1, .collection = "listed"}), ElementsAre("bias"));
}

TEST(TensorNames, of_a_collection_that_selects_nothing_are_none) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.collection = "nothing"}), IsEmpty());
  EXPECT_THAT(trial.tensor_names({.collection = "absent"}), IsEmpty());
}

TEST(TensorNames, take_a_regex_or_a_collection) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor_names({.regex = "a", .collection = "listed"}), UsageError);
}

TEST(TensorNames, of_several_workers_are_merged) {
  MemoryRun run;
  run.worker({"a", 2}).save(0, {raw("x", {1}), raw("z", {1})});
  run.worker({"b", 2}).save(0, {raw("y", {1}), raw("z", {1})});
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.step = 0}), ElementsAre("x", "y", "z"));
  EXPECT_THAT(trial.tensor_names(), ElementsAre("x", "y", "z"));
}

TEST(TensorNames, hide_what_only_incomplete_steps_hold) {
  MemoryRun run;
  run.worker({"a", 2}).save(0, {raw("x", {1})}).save(1, {raw("later", {1})});
  run.worker({"b", 2}).save(0, {raw("x", {1})});
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names(), ElementsAre("x"));
  EXPECT_THAT(trial.tensor_names({.step = 1}), ElementsAre("later"));
  EXPECT_TRUE(trial.has_tensor("later"));
}

TEST(TensorNames, keep_what_the_latest_step_no_longer_has) {
  NamedRun run;
  run.writer.save({2, Mode::Train, 1}, {raw("bias", {1})});
  EXPECT_THAT(run.open().tensor_names(), ElementsAre("acc", "bias", "relu_1"));
}

TEST(TensorNames, hundreds_in_changing_sets_are_kept_apart) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  for (std::int64_t step = 0; step < 20; ++step) {
    std::vector<SavedTensor> tensors;
    for (std::int64_t i = 0; i < 200; ++i)
      if (i % (step % 5 + 1) == 0)
        tensors.push_back(scalar("t" + std::to_string(i), static_cast<double>(i)));
    writer.save(step, std::move(tensors));
  }
  const Trial trial = run.open();
  EXPECT_EQ(trial.tensor_names().size(), 200U);
  EXPECT_EQ(trial.tensor_names({.step = 19}).size(), 40U);
  EXPECT_THAT(trial.tensor("t7").steps(), ElementsAre(0, 5, 10, 15));
  EXPECT_EQ(trial.tensor("t12").value(13).at(0), 12);
}

TEST(Tensors, that_were_never_saved_are_unavailable) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_TRUE(trial.has_tensor("bias"));
  EXPECT_FALSE(trial.has_tensor("bia"));
  EXPECT_EQ(trial.find_tensor("bia"), std::nullopt);
  EXPECT_THROW(trial.tensor("bia"), TensorUnavailable);
}

TEST(RunCollections, are_given_with_their_names) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.collections().size(), 3U);
  EXPECT_THAT(trial.collection("listed").tensor_names(), ElementsAre("bias"));
}

TEST(RunCollections, that_are_absent_are_empty) {
  NamedRun run;
  const Collection absent = run.open().collection("absent");
  EXPECT_EQ(absent.name(), "absent");
  EXPECT_FALSE(absent.contains("bias"));
}

TEST(RunCollections, unite_the_names_of_all_workers) {
  MemoryRun run;
  run.worker({"a", 2}).collection("mine", {}, {"x"});
  run.worker({"b", 2}).collection("mine", {}, {"y"}).collection("yours", {}, {"z"});
  const Trial trial = run.open();
  EXPECT_THAT(trial.collection("mine").tensor_names(), ElementsAre("x", "y"));
  EXPECT_EQ(trial.collections().size(), 2U);
}

TEST(RunCollections, that_grow_are_read_again) {
  NamedRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.collection = "listed"}), ElementsAre("bias"));
  run.writer.collection("listed", {}, {"acc"}).save({2, Mode::Train, 1}, {raw("bias", {1})});
  EXPECT_THAT(trial.tensor_names({.collection = "listed"}), ElementsAre("acc", "bias"));
}

TEST(RunCollections, hold_what_joined_them_as_the_index_says) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.collection("mine", {"^m"}, {"listed"});
  writer.save(0, {raw("m1", {1}), raw("listed", {1}), raw("a", {1}).joining({"mine", "yours"})});
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names({.collection = "mine"}), ElementsAre("a", "listed", "m1"));
  EXPECT_THAT(trial.tensor_names({.collection = "yours"}), ElementsAre("a"));
  EXPECT_THAT(trial.collection("mine").tensor_names(), ElementsAre("a", "listed"));
  EXPECT_TRUE(trial.collections().contains("yours"));
  writer.save(1, {raw("b", {1}).joining({"yours"}), raw("m1", {1}).joining({"yours"})});
  EXPECT_THAT(trial.tensor_names({.collection = "yours"}), ElementsAre("a", "b", "m1"));
  EXPECT_THAT(trial.tensor_names({.step = 0, .collection = "yours"}), ElementsAre("a", "m1"));
  writer.finish();
  trial.refresh();
  EXPECT_THAT(trial.collection("mine").tensor_names(), ElementsAre("a", "listed", "m1"));
  EXPECT_THAT(trial.collections().at("yours").tensor_names(), ElementsAre("a", "b", "m1"));
}

TEST(RunCollections, are_named_without_their_members) {
  MemoryRun run;
  run.worker({"a", 2}).collection("mine", {"^m"}, {"listed"}).save(0, {raw("m1", {1})});
  run.worker({"b", 2})
      .collection("ours", {"^m"})
      .save(0, {raw("x", {1}).joining({"yours", "mine"})});
  EXPECT_THAT(run.open().collection_names(), ElementsAre("mine", "ours", "yours"));
}

TEST(RunCollections, that_the_index_names_are_no_more_than_a_hook_may_have) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kMostCollections; ++i) names.push_back(std::to_string(i));
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.save(0, {raw("a", {1}).joining(names)});
  const Trial trial = run.open();
  EXPECT_EQ(trial.collection_names().size(), kMostCollections);
  writer.save(1, {raw("a", {1}).joining({names.front()})});
  writer.save(2, {raw("a", {1}).joining({"one more"})});
  EXPECT_THROW(trial.refresh(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(RunCollections, hold_what_joined_them_before_the_range_of_steps) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.put_after(3);
  for (std::int64_t step = 0; step < 3; ++step)
    writer.save(step, {raw("a", {1}).joining(step == 0 ? Names{"mine"} : Names{})});
  writer.finish();
  const Trial trial = run.open({.range_steps = {.begin = 2}});
  EXPECT_THAT(trial.steps(), ElementsAre(2));
  EXPECT_THAT(trial.tensor_names({.collection = "mine"}), ElementsAre("a"));
}

TEST(ReservedTensors, are_not_tensors_of_the_run) {
  NamedRun run;
  run.writer.save({2, Mode::Train, 1}, {raw("bias", {1}), scalar("cupel/overhead", 0.25)});
  const Trial trial = run.open();
  EXPECT_THAT(trial.tensor_names(), ElementsAre("acc", "bias", "relu_1"));
  EXPECT_THAT(trial.tensor_names({.step = 2}), ElementsAre("bias"));
  EXPECT_FALSE(trial.has_tensor("cupel/overhead"));
}

TEST(ReservedTensors, alone_make_no_step) {
  NamedRun run;
  run.writer.save({2, Mode::Train, 1}, {texts("cupel/note", {"{}"})});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_EQ(trial.last_complete_step(), 1);
  EXPECT_EQ(trial.mode(2), std::nullopt);
  EXPECT_EQ(trial.has_passed_step(2), StepState::Unavailable);
}

TEST(ReservedTensors, carry_the_notes) {
  NamedRun run;
  const std::string longer(100, 'x');
  run.writer.save({2, Mode::Train, 1},
                  {raw("bias", {1}), texts("cupel/note", {"{\"dropped\":1}"})});
  run.writer.save({3, Mode::Train, 2}, {texts("cupel/note", {longer})});
  const std::vector<Note> notes = run.open().notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].step, 2);
  EXPECT_EQ(notes[0].worker, "worker_0");
  EXPECT_EQ(notes[0].text, "{\"dropped\":1}");
  EXPECT_EQ(notes[1].text, longer);
}

TEST(ReservedTensors, carry_the_notes_of_a_range_of_steps) {
  MemoryRun run;
  auto first = run.worker({"worker_0", 2});
  auto second = run.worker({"worker_1", 2});
  for (std::int64_t step = 0; step < 10; step += 2) {
    first.save(step, {texts("cupel/note", {"0 at " + std::to_string(step)})});
    second.save(step, {scalar("loss", 1), texts("cupel/note", {"1 at " + std::to_string(step)})});
  }
  const Trial trial = run.open();
  const auto notes_of = [&trial](const StepRange& steps) {
    std::vector<std::string> found;
    for (const Note& note : trial.notes(steps)) found.push_back(note.text);
    return found;
  };
  EXPECT_THAT(notes_of({3, 6}), ElementsAre("0 at 4", "1 at 4"));
  EXPECT_THAT(notes_of({4, 7}), ElementsAre("0 at 4", "1 at 4", "0 at 6", "1 at 6"));
  EXPECT_THAT(notes_of({.end = 1}), ElementsAre("0 at 0", "1 at 0"));
  EXPECT_THAT(notes_of({.begin = 8}), ElementsAre("0 at 8", "1 at 8"));
  EXPECT_THAT(notes_of({6, 6}), IsEmpty());
  EXPECT_THAT(notes_of({.begin = 9}), IsEmpty());
  EXPECT_EQ(notes_of({}).size(), 10U);
}

TEST(Totals, count_rows_bytes_and_the_newest_overhead_of_each_worker) {
  MemoryRun run;
  run.worker({"a", 2})
      .save(0, {filled("w", 100, 1), scalar("cupel/overhead", 0.5)})
      .save(1, {filled("w", 100, 1), scalar("cupel/overhead", 0.25)});
  run.worker({"b", 2}).save(0, {raw("w", {1}), scalar("cupel/overhead", 0.75)});
  const TrialTotals totals = run.open().totals();
  EXPECT_EQ(totals.rows, 3);
  EXPECT_EQ(totals.value_bytes, 804U) << "inline ones included, the hook's own not";
  EXPECT_EQ(totals.overhead, 0.5);
  EXPECT_EQ(totals.newest_time_us, WorkerWriter::kTime + 1);
  std::uint64_t bytes = 0;
  for (const ObjectInfo& info : run.store->list(kIndexPrefix)) bytes += info.size;
  EXPECT_EQ(totals.index_bytes, bytes);
}

}  // namespace
}  // namespace cupel::testing
