#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "store/scratch_directory.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct GrowingRun : MemoryRun {
  WorkerWriter writer = worker();
};

TEST(GrowingRun, a_run_without_steps_is_empty) {
  GrowingRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), IsEmpty());
  EXPECT_THAT(trial.tensor_names(), IsEmpty());
  EXPECT_EQ(trial.last_complete_step(), -1);
  EXPECT_EQ(trial.has_passed_step(0), StepState::NotYetAvailable);
}

TEST(GrowingRun, queries_see_committed_steps_at_once) {
  GrowingRun run;
  const Trial trial = run.open();
  run.writer.save_steps({0});
  EXPECT_THAT(trial.steps(), ElementsAre(0));
  run.writer.save_steps({1, 2});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.tensor("loss").value(2).at(0), 2);
}

TEST(GrowingRun, a_step_without_its_index_is_not_yet_available) {
  GrowingRun run;
  run.writer.save_steps({0});
  const auto index = run.writer.encode(1, {filled("w", 100, 1)});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0));
  EXPECT_EQ(trial.has_passed_step(1), StepState::NotYetAvailable);
  run.writer.append_index(index);
  EXPECT_EQ(trial.has_passed_step(1), StepState::Available);
  EXPECT_EQ(trial.tensor("w").value(1).elements(), 100);
}

TEST(GrowingRun, every_torn_tail_of_an_open_segment_is_not_there_yet) {
  GrowingRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  run.writer.save_steps({0});
  const auto index = run.writer.encode(1, {scalar("loss", 1)});
  const Trial trial = run.open();
  for (const std::byte byte : index) {
    ASSERT_THAT(trial.steps(), ElementsAre(0));
    run.writer.append_index({&byte, 1});
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(GrowingRun, every_beginning_of_a_first_step_is_not_there_yet) {
  GrowingRun run;
  CUPEL_NEEDS_APPENDING(*run.store);
  const auto index = run.writer.encode(0, {scalar("loss", 1)});
  const Trial trial = run.open();
  for (const std::byte byte : index) {
    ASSERT_THAT(trial.steps(), IsEmpty());
    run.writer.append_index({&byte, 1});
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST(GrowingRun, sealing_changes_nothing_for_a_reader) {
  GrowingRun run;
  run.writer.save(0, {filled("w", 100, 0)}).save(1, {filled("w", 100, 1)});
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  run.writer.seal();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_EQ(trial.totals().rows, 2);
  EXPECT_EQ(trial.tensor("w").value(1).at(99), 1);
}

TEST(GrowingRun, steps_that_were_sealed_before_they_were_seen_are_read) {
  GrowingRun run;
  run.writer.save_steps({0, 1});
  const Trial trial = run.open();
  run.writer.save_steps({2, 3}).seal();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(trial.totals().rows, 4);
}

TEST(GrowingRun, segments_follow_one_another) {
  GrowingRun run;
  const Trial trial = run.open();
  run.writer.save_steps({0, 1}).seal().save_steps({2}).seal();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  run.writer.save_steps({1500}).seal().save_steps({2700});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 1500, 2700));
}

TEST(GrowingRun, a_new_worker_with_older_keys_is_found) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2});
  a.save_steps({0}).seal().save_steps({5000}).seal();
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), IsEmpty());
  run.worker({"b", 2}).save_steps({0, 1});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(GrowingRun, a_slow_workers_next_segment_is_found) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0}).seal().save_steps({5000}).seal();
  b.save_steps({0}).seal();
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0));
  b.save_steps({3000, 6000});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 3000, 5000));
}

TEST(GrowingRun, the_end_is_seen_with_all_that_was_committed_before_it) {
  GrowingRun run;
  const Trial trial = run.open();
  EXPECT_FALSE(trial.ended());
  run.writer.save_steps({0, 1}).finish();
  EXPECT_TRUE(trial.ended());
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(GrowingRun, refresh_says_whether_anything_came) {
  GrowingRun run;
  const Trial trial = run.open();
  EXPECT_FALSE(trial.refresh());
  run.writer.save_steps({0});
  EXPECT_TRUE(trial.refresh());
  EXPECT_FALSE(trial.refresh());
  run.writer.finish();
  EXPECT_TRUE(trial.refresh());
  EXPECT_FALSE(trial.refresh());
}

/// A store that seals the writer's segment between a look at the file and the read of it.
struct SealedUnderTheReader : GrowingRun {
  std::shared_ptr<StoreWrapper> wrapper = std::make_shared<StoreWrapper>(store);
  bool armed = false;
  SealedUnderTheReader() {
    wrapper->before_get_range = [this](std::string_view key) {
      if (!std::exchange(armed, false) || !key.starts_with(kIndexPrefix)) return;
      writer.seal();
    };
  }
};

TEST(GrowingRun, a_file_replaced_between_look_and_read_is_read_again) {
  SealedUnderTheReader run;
  run.writer.save_steps({0, 1, 2});
  const Trial trial = MemoryRun::open_over(run.wrapper);
  run.writer.save_steps({3, 4});
  run.armed = true;
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_FALSE(run.armed);
  EXPECT_EQ(trial.totals().rows, 5);
}

TEST(GrowingRun, a_file_replaced_at_its_first_read_is_read_again) {
  SealedUnderTheReader run;
  run.writer.save_steps({0, 1, 2});
  run.armed = true;
  const Trial trial = MemoryRun::open_over(run.wrapper);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.totals().rows, 3);
}

TEST(GrowingRun, a_file_that_a_directorys_listing_missed_is_found) {
  GrowingRun run;
  if (!run.store->can_append()) GTEST_SKIP() << "such a store hides no file that is renamed";
  auto wrapper = std::make_shared<StoreWrapper>(run.store);
  const Trial trial = MemoryRun::open_over(wrapper);
  int listings = 0;
  // While the first listing is under way a segment is sealed and the next begun; only the latter is
  // seen.
  run.writer.save_steps({0});
  const std::string hidden = run.writer.index_key();
  const auto kept = *run.store->get(hidden);
  run.store->remove(hidden);
  wrapper->before_list = [&](std::string_view prefix) {
    if (prefix != kIndexPrefix || ++listings != 2) return;
    run.store->append(hidden, 0, std::vector{std::span<const std::byte>(kept)});
    run.writer.seal();
  };
  WorkerWriter next(*run.store);
  next.save_steps({1});
  trial.refresh();
  trial.refresh();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(GrowingRun, a_store_that_fails_is_asked_again) {
  GrowingRun run;
  auto wrapper = std::make_shared<StoreWrapper>(run.store);
  const Trial trial = MemoryRun::open_over(wrapper);
  bool fails = true;
  wrapper->before_get_range = [&](std::string_view key) {
    if (std::exchange(fails, false))
      throw StoreError(std::string(key), true, "the network is down");
  };
  run.writer.save_steps({0});
  EXPECT_THROW(trial.steps(), StoreError);
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST(GrowingRun, a_local_run_is_followed_through_sealing_and_its_end) {
  const ScratchDirectory directory;
  auto store = std::make_shared<LocalStore>((directory / "run").string());
  WorkerWriter writer(*store);
  const Trial trial(store);
  writer.save(0, {filled("w", 100, 0)});
  EXPECT_THAT(trial.steps(), ElementsAre(0));
  writer.save(1, {filled("w", 100, 1)}).seal().save(2, {filled("w", 100, 2)});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  writer.finish();
  EXPECT_TRUE(trial.ended());
  EXPECT_EQ(trial.tensor("w").values().at(2).at(0), 2);
}

}  // namespace
}  // namespace cupel::testing
