// A run in a store that tells of its objects by listings, which are not made at one moment, and
// where most of what may have changed is not asked for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/far_run.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Something happens once, when the first page of a listing was made, which has so many objects,
/// and before the second.
void happens_behind(std::size_t page_size, RequestStore& store, std::function<void()> happens) {
  store.put("zebra", {}, Durability::Cached);  // so that there is a second
  store.page_size = page_size;
  store.between_pages = [happens = std::move(happens), happened = false]() mutable {
    if (!std::exchange(happened, true)) happens();
  };
}

TEST(FarRun, a_segment_that_came_before_the_marker_and_behind_the_listing_is_not_lost) {
  FarRun run;
  WorkerWriter writer = run.worker();
  writer.save_steps({0});
  const auto trial = run.open();
  // The first page ends behind where the next index file would be, the second has the marker.
  run.store->put(kStopFile, {}, Durability::Cached);
  happens_behind(1, *run.store, [&] { writer.save_steps({1}).finish(); });
  trial->refresh();
  EXPECT_TRUE(trial->ended());
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
}

TEST(FarRun, that_is_opened_while_it_ends_has_every_step) {
  FarRun run;
  WorkerWriter writer = run.worker();
  writer.save_steps({0});
  run.store->put(kStopFile, {}, Durability::Cached);
  happens_behind(2, *run.store, [&] { writer.save_steps({1}).finish(); });
  const auto trial = run.open();
  trial->refresh();
  EXPECT_TRUE(trial->ended());
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
}

TEST(FarRun, that_begins_and_ends_between_two_searches_for_it_is_opened) {
  FarRun run;
  bool asked_for_end = false;
  run.store->before_request = [&](std::string_view kind, std::string_view key) {
    if (kind != "HEAD" || key != kEndMarker || std::exchange(asked_for_end, true)) return;
    run.worker().save_steps({0}).finish();
  };
  const auto trial = run.open({.wait_for_run = seconds(60)});
  EXPECT_TRUE(asked_for_end);
  EXPECT_THAT(trial->steps(), ElementsAre(0));
}

TEST(FarRun, a_segment_that_a_listing_missed_is_found_by_its_number) {
  FarRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0});
  b.save_steps({0});
  const auto trial = run.open();
  a.save_steps({5});
  // The first page, b's segment that is known and a's, ends behind where b's next one would be.
  happens_behind(2, *run.store, [&] { b.save_steps({4, 6}); });
  trial->refresh();
  EXPECT_THAT(trial->steps(Mode::Global, true), ElementsAre(0, 4, 5, 6));
  EXPECT_EQ(trial->tensor("loss").value(4).at(0), 4);
}

TEST(FarRun, a_segment_that_is_not_there_is_not_searched_for_twice) {
  FarRun run;
  WorkerWriter writer = run.worker();
  writer.save_steps({0, 1});
  const std::string lost = writer.index_key();
  writer.save_steps({2});
  run.store->remove(lost);
  const auto trial = run.open();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2));
  EXPECT_EQ(run.spent([&] { trial->refresh(); }), (Requests{.list = 1}));
}

/// Worker a is 800 segments ahead of b.
struct Laggard : FarRun {
  WorkerWriter a = worker({"a", 2}), b = worker({"b", 2});
  std::unique_ptr<Trial> trial;
  Laggard() {
    b.save_steps({0});
    for (std::int64_t step = 0; step < 800; ++step) a.save_steps({step});
    trial = open({.polling = {.full_interval = seconds(60)}});
  }
};

TEST(FarRun, a_worker_far_behind_is_polled_once_a_minute) {
  Laggard run;
  run.b.save_steps({1});
  run.a.save_steps({800});
  EXPECT_EQ(run.spent([&] { run.trial->refresh(); }), (Requests{.list = 1, .get = 1}));
  EXPECT_EQ(run.trial->last_complete_step(), 0);
  run.clock->pass(seconds(60));
  run.trial->refresh();
  EXPECT_EQ(run.trial->last_complete_step(), 1);
}

TEST(FarRun, a_worker_that_catches_up_leaves_no_gap) {
  Laggard run;
  for (std::int64_t step = 1; step < 801; ++step) run.b.save_steps({step});
  run.trial->refresh();
  EXPECT_EQ(run.trial->last_complete_step(), 799);
  EXPECT_THAT(run.trial->tensor("loss").workers(400), ElementsAre("a", "b"));
}

TEST(FarRun, listings_for_the_sake_of_laggards_stay_short) {
  Laggard run;
  run.store->page_size = 100;
  run.a.save_steps({800});
  EXPECT_LE(run.spent([&] { run.trial->refresh(); }).list, 6);
}

TEST(FarRun, a_worker_that_begins_late_is_found) {
  FarRun run;
  WorkerWriter a = run.worker({"a", 2});
  a.save_steps({0, 1, 2});
  const auto trial = run.open();
  EXPECT_EQ(trial->last_complete_step(), -1);
  run.worker({"b", 2}).save_steps({0, 1});
  trial->refresh();
  EXPECT_EQ(trial->last_complete_step(), 1);
  EXPECT_THAT(trial->workers(), ElementsAre("a", "b"));
}

TEST(FarRun, the_end_of_one_of_several_workers_is_seen_within_a_minute) {
  FarRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0});
  b.save_steps({0});
  const auto trial = run.open();
  b.close();
  a.save_steps({1});
  trial->refresh();
  EXPECT_EQ(trial->last_complete_step(), 0);
  run.clock->pass(seconds(60));
  trial->refresh();
  EXPECT_EQ(trial->last_complete_step(), 1);
}

TEST(FarRun, a_worker_that_has_ended_is_known_with_all_of_its_steps) {
  FarRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0, 1, 2});
  b.save_steps({0});
  const auto trial = run.open({.polling = {.full_interval = milliseconds(0)}});
  // While everything is listed b goes on and ends.
  bool goes_on = true;
  run.store->before_request = [&](std::string_view kind, std::string_view key) {
    if (kind == "LIST" && key.empty() && std::exchange(goes_on, false)) b.save_steps({1}).close();
  };
  trial->refresh();
  EXPECT_EQ(trial->last_complete_step(), 1);
  trial->refresh();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial->tensor("loss").workers(1), ElementsAre("a", "b"));
}

TEST(FarRun, no_step_is_seen_before_its_tags) {
  FarRun run;
  WorkerWriter writer = run.worker();
  writer.save(0, {raw("w", {1})});
  const auto trial = run.open();
  writer.collection("mine", {}, {"w"}).save(1, {raw("w", {1})});
  run.store->before_request = [&](std::string_view kind, std::string_view key) {
    if (kind == "LIST" && key.starts_with("collections/"))
      throw StoreError(std::string(key), true, "the network is down");
  };
  EXPECT_THROW(trial->refresh(), StoreError);
  {
    const NoRefresh pinned(*trial);
    EXPECT_THAT(trial->steps(), ElementsAre(0));
  }
  EXPECT_THROW(trial->steps(), StoreError);
  run.store->before_request = [](std::string_view, std::string_view) {};
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  EXPECT_THAT(trial->tensor_names({.step = 1, .collection = "mine"}), ElementsAre("w"));
}

TEST(FarRun, a_failure_midway_loses_nothing) {
  FarRun run;
  WorkerWriter writer = run.worker();
  const auto trial = run.open();
  writer.save_steps({0, 1, 2, 3, 4, 5});
  int gets = 0;
  run.store->before_request = [&](std::string_view kind, std::string_view key) {
    if (kind == "GET" && ++gets == 4) throw StoreError(std::string(key), true, "reset");
  };
  EXPECT_THROW(trial->refresh(), StoreError);
  trial->refresh();
  EXPECT_THAT(trial->steps(), SizeIs(6));
}

TEST(FarRun, that_is_removed_is_missed_within_a_minute) {
  FarRun run;
  run.worker().save_steps({0, 1});
  const auto trial = run.open();
  for (const ObjectInfo& info : run.store->inner().list("")) run.store->inner().remove(info.key);
  trial->refresh();
  run.clock->pass(seconds(60));
  EXPECT_THROW(trial->refresh(), FormatError);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
}

TEST(FarRun, that_another_one_replaces_is_reported_and_nothing_of_the_other_is_shown) {
  FarRun run;
  run.worker().save_steps({0, 1});
  const auto trial = run.open();
  for (const ObjectInfo& info : run.store->inner().list("")) run.store->inner().remove(info.key);
  const CollectionsFile other{1, "beef", "worker_0", 0, {}};
  run.store->put(collections_key("worker_0"), encode_collections_file(other), Durability::Cached);
  IndexWriter index({"beef", "worker_0", 0, 0}, {});
  IndexRow row;
  row.tensor = "loss";
  index.encode_step({7, Mode::Train, 7, 0}, {&row, 1});
  run.store->put(SegmentName{0, 7, "worker_0"}.index_key(), index.seal(), Durability::Cached);
  try {
    trial->refresh();
    ADD_FAILURE() << "nothing was told";
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr("replaced by another one"));
  }
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
}

TEST(FarRun, a_new_attempt_is_followed) {
  FarRun run;
  run.worker().save_steps({0, 1, 2});
  const auto trial = run.open();
  const auto before = RunFollower(*trial).snapshot();
  WorkerWriter again = run.worker({.attempt = 1});
  again.save_steps({2, 3});
  EXPECT_EQ(run.spent([&] { trial->refresh(); }), (Requests{.list = 2, .get = 3}));
  EXPECT_EQ(RunFollower(*trial).rewound_to(*before), 2);
  EXPECT_EQ(run.spent([&] { trial->refresh(); }), (Requests{.list = 1}));
}

TEST(FarRun, an_index_object_that_is_half_there_is_damage_with_file_and_offset) {
  FarRun run;
  WorkerWriter writer = run.worker();
  writer.save_steps({0, 1});
  auto bytes = *run.store->inner().get(writer.index_key());
  bytes.resize(bytes.size() / 2);
  run.store->put(writer.index_key(), bytes, Durability::Cached);
  writer.save_steps({2});
  const auto trial = run.open();
  EXPECT_THROW(trial->refresh(), FormatError);
  EXPECT_THAT(trial->steps(), ElementsAre(0));
}

// ---- Reading several objects at once

TEST(FetchedTogether, index_objects_are_and_are_taken_in_order) {
  FarRun run;
  WorkerWriter writer = run.worker();
  const auto trial = run.open({.polling = {.requests_at_once = 4}});
  writer.save_steps({0, 1, 2, 3, 4, 5, 6, 7});
  // The first read ends when three others have begun.
  std::promise<void> others_began;
  std::atomic<int> begun = 0;
  run.store->before_request = [&](std::string_view kind, std::string_view) {
    if (kind != "GET") return;
    const int nth = begun++;
    if (nth == 3) others_began.set_value();
    if (nth == 0) others_began.get_future().wait();
  };
  trial->refresh();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_GE(run.store->most_at_once(), 2);
}

TEST(FetchedTogether, no_more_are_than_the_options_allow) {
  FarRun run;
  WorkerWriter writer = run.worker();
  for (std::int64_t step = 0; step < 200; ++step) writer.save_steps({step});
  const auto trial = run.open({.polling = {.requests_at_once = 3}});
  EXPECT_THAT(trial->steps(), SizeIs(200));
  EXPECT_LE(run.store->most_at_once(), 3);
}

TEST(FetchedTogether, nothing_is_where_one_request_is_all_that_may_be) {
  FarRun run;
  run.worker().save_steps({0, 1, 2, 3, 4});
  EXPECT_THAT(run.open({.polling = {.requests_at_once = 1}})->steps(), SizeIs(5));
  EXPECT_EQ(run.store->most_at_once(), 1);
  EXPECT_THROW(run.open({.polling = {.requests_at_once = 0}}), UsageError);
}

TEST(FetchedTogether, values_in_different_objects_are) {
  FarRun run;
  WorkerWriter writer = run.worker();
  for (std::int64_t step = 0; step < 6; ++step)
    writer.save(step, {filled("w", 100, static_cast<float>(step))});
  const auto trial = run.open({.polling = {.requests_at_once = 6}});
  std::promise<void> all_began;
  std::atomic<int> begun = 0;
  run.store->before_request = [&, all = all_began.get_future().share()](std::string_view,
                                                                        std::string_view) {
    if (++begun == 6) all_began.set_value();
    all.wait();
  };
  const auto values = trial->tensor("w").values();
  ASSERT_THAT(values, SizeIs(6));
  for (const auto& [step, value] : values) EXPECT_EQ(value.at(99), static_cast<double>(step));
}

TEST(FetchedTogether, a_large_index_object_is_read_in_pieces) {
  FarRun run;
  WorkerWriter writer = run.worker();
  constexpr int kSteps = 100, kTensors = 2000;
  writer.put_after(kSteps);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    std::vector<SavedTensor> tensors;
    for (int i = 0; i < kTensors; ++i)
      tensors.push_back(reduced("tensor/" + std::to_string(i), "mean", static_cast<double>(step)));
    writer.save(step, std::move(tensors));
  }
  ASSERT_GT(run.store->stat(writer.index_key())->size, 20U << 20U);
  std::unique_ptr<Trial> trial;
  const Requests spent = run.spent([&] { trial = run.open(); });
  EXPECT_GT(spent.get, 2);
  EXPECT_LT(spent.get, 8);
  EXPECT_EQ(trial->tensor("tensor/1999").reduction_value(99, "mean"), 99);
}

}  // namespace
}  // namespace cupel::testing
