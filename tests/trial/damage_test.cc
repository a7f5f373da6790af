#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The damage that a call meets.
template <class F>
std::optional<FormatError> damage_of(F&& call) {
  try {
    static_cast<void>(call());
  } catch (const FormatError& error) {
    return error;
  }
  return std::nullopt;
}

struct DamagedRun : MemoryRun {
  WorkerWriter writer = worker();
};

TEST(Damage, in_an_index_file_is_told_with_its_place) {
  DamagedRun run;
  run.writer.save_steps({0, 1, 2});
  run.writer.seal();
  flip_bit(*run.store, run.writer.index_key(), run.store->get(run.writer.index_key())->size() / 2);
  const Trial trial = run.open();
  const auto damage = damage_of([&] { return trial.steps(); });
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->file, run.writer.index_key());
}

TEST(Damage, leaves_what_was_committed_before_it_readable) {
  DamagedRun run;
  run.writer.put_after(2).save_steps({0, 1}).seal().save_steps({2, 3}).seal();
  flip_bit(*run.store, run.writer.index_key(), 900);
  const Trial trial = run.open();
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_EQ(trial.tensor("loss").value(1).at(0), 1);
}

TEST(Damage, is_told_again_to_whoever_refreshes) {
  DamagedRun run;
  run.writer.save_steps({0}).seal();
  flip_bit(*run.store, run.writer.index_key(), 900);
  const Trial trial = run.open();
  EXPECT_THROW(trial.refresh(), FormatError);
  EXPECT_THROW(trial.refresh(), FormatError);
  EXPECT_NO_THROW(trial.steps());
}

TEST(Damage, ends_a_wait_for_what_it_hides) {
  DamagedRun run;
  run.writer.save_steps({0}).seal().save_steps({1}).seal();
  flip_bit(*run.store, run.writer.index_key(), 900);
  const Trial trial = run.open();
  EXPECT_NO_THROW(trial.wait_for_steps({0}));
  EXPECT_THROW(trial.wait_for_steps({1}), FormatError);
  EXPECT_THROW(trial.wait_for_steps({1}), FormatError);
}

TEST(Damage, of_one_worker_leaves_the_others_readable) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0, 1}).seal();
  b.save_steps({0, 1}).seal();
  flip_bit(*run.store, a.index_key(), 900);
  const Trial trial = run.open();
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(Mode::Global, true), ElementsAre(0, 1));
  EXPECT_THAT(trial.missing_workers(1), ElementsAre("a"));
}

TEST(Damage, a_torn_last_segment_of_an_ended_run_is_damage) {
  DamagedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0, 1});
  const auto index = run.writer.encode(2, {scalar("loss", 2)});
  run.writer.append_index(std::span(index).first(100));
  const std::uint64_t size = run.store->stat(run.writer.index_key())->size;
  run.end();
  const Trial trial = run.open();
  const auto damage = damage_of([&] { return trial.steps(); });
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->file, run.writer.index_key());
  EXPECT_EQ(damage->offset, size - 100);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(Damage, an_unsealed_last_segment_of_an_ended_run_is_damage) {
  DamagedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0, 1});
  run.end();
  const Trial trial = run.open();
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(Damage, an_unsealed_segment_with_a_successor_is_damage) {
  DamagedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0}).abandon().save_steps({1});
  const Trial trial = run.open();
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST(Damage, in_a_value_is_told_with_its_place) {
  DamagedRun run;
  run.writer.save(0, {filled("w", 100, 1)}).save(1, {filled("w", 100, 1)});
  const std::uint64_t offset = run.writer.last_location().offset;
  flip_bit(*run.store, run.writer.events_key(), offset + 399);
  const Trial trial = run.open();
  EXPECT_NO_THROW(trial.tensor("w").value(0));
  const auto damage = damage_of([&] { return trial.tensor("w").value(1); });
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->file, run.writer.events_key());
  EXPECT_EQ(damage->offset, offset);
}

TEST(Damage, an_events_file_that_was_cut_is_damage) {
  DamagedRun run;
  run.writer.save(0, {filled("w", 100, 1)});
  auto bytes = *run.store->get(run.writer.events_key());
  bytes.resize(static_cast<std::size_t>(run.writer.last_location().offset) + 10);
  run.store->put(run.writer.events_key(), bytes);
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("w").value(0), FormatError);
}

TEST(Damage, a_missing_events_file_makes_its_values_unavailable) {
  DamagedRun run;
  run.writer.save(0, {filled("w", 100, 1).with("mean", 1)});
  run.store->remove(run.writer.events_key());
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("w").value(0), TensorUnavailableForStep);
  EXPECT_EQ(trial.tensor("w").reduction_value(0, "mean"), 1);
  EXPECT_TRUE(trial.tensor("w").values().empty());
}

TEST(Damage, a_length_that_does_not_fit_the_shape_is_damage) {
  DamagedRun run;
  SavedTensor tensor = filled("w", 100, 1);
  tensor.elements = 99;
  run.writer.save(0, {std::move(tensor).shaped({99})});
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("w").value(0), FormatError);
}

TEST(Damage, an_absurd_length_is_found_out_before_memory_is_asked_for) {
  DamagedRun run;
  const std::int64_t elements = std::int64_t{1} << 50;
  IndexWriter index({"cafe", "worker_0", 0, 0}, {});
  IndexRow row;
  row.tensor = "w";
  row.elements = elements;
  row.location = ValueLocation{64, static_cast<std::uint64_t>(elements) * 4, 0};
  const auto bytes = index.encode_step({0, Mode::Train, 0, 0}, {&row, 1});
  const SegmentName name{0, 0, "worker_0"};
  run.store->put(name.index_key(), bytes);
  run.store->put(name.events_key(), bytes);
  const Trial trial = run.open();
  EXPECT_THROW(trial.tensor("w").value(0), FormatError);
}

TEST(Damage, segments_that_overlap_are_damage) {
  DamagedRun run;
  run.writer.put_after(3).save_steps({0, 1, 2}).seal();
  IndexWriter index({"cafe", "worker_0", 0, 1}, {});
  IndexRow row;
  row.tensor = "loss";
  index.encode_step({2, Mode::Train, 2, 0}, {&row, 1});
  run.store->put(SegmentName{0, 2, "worker_0"}.index_key(), index.seal());
  const Trial trial = run.open();
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
}

TEST(Damage, a_sealed_segment_with_other_rows_than_before_is_damage) {
  DamagedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0, 1, 2});
  const Trial trial = run.open();
  IndexWriter index({"cafe", "worker_0", 0, 0}, {});
  IndexRow row;
  row.tensor = "loss";
  index.encode_step({0, Mode::Train, 0, 0}, {&row, 1});
  run.store->put(run.writer.index_key(), index.seal());
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
}

TEST(Damage, an_index_file_that_vanishes_while_it_grows_is_told) {
  DamagedRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0});
  const Trial trial = run.open();
  run.store->remove(run.writer.index_key());
  EXPECT_THROW(trial.steps(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST(Damage, foreign_objects_in_the_index_are_passed_over) {
  DamagedRun run;
  run.writer.save_steps({0});
  run.store->put("index/0000-000000000/README.txt", {});
  EXPECT_THAT(run.open().steps(), ElementsAre(0));
}

TEST(Damage, in_a_collections_file_refuses_the_run) {
  DamagedRun run;
  run.store->put(collections_key("worker_0"), std::as_bytes(std::span("{", 1)));
  EXPECT_THROW(run.open(), FormatError);
}

TEST(Damage, no_flipped_bit_of_an_open_index_gives_wrong_steps) {
  DamagedRun run;
  run.writer.save_steps({0, 1, 2});
  const auto whole = *run.store->get(run.writer.index_key());
  for (std::size_t at = 0; at < whole.size(); at += stride(*run.store, 7)) {
    auto bytes = whole;
    bytes[at] ^= std::byte{16};
    run.store->put(run.writer.index_key(), bytes);
    const Trial trial = run.open();
    const auto damage = damage_of([&] { return trial.steps(); });
    if (damage) {
      EXPECT_EQ(damage->file, run.writer.index_key());
    } else {
      EXPECT_THAT(trial.steps(), ElementsAre(0, 1)) << "a bit at " << at;
    }
  }
}

}  // namespace
}  // namespace cupel::testing
