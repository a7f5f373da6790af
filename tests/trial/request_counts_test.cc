// What reading a run costs where every request does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/far_run.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct CountedRun : FarRun {
  WorkerWriter writer = worker();

  /// Saves steps, and returns the requests of the refresh that follows.
  Requests refresh_after(std::initializer_list<std::int64_t> steps, const Trial& trial) {
    writer.save_steps(steps);
    return spent([&] { trial.refresh(); });
  }
};

TEST(RefreshRequests, without_news_are_one_listing) {
  CountedRun run;
  run.writer.save_steps({0, 1});
  const auto trial = run.open();
  EXPECT_EQ(run.refresh_after({}, *trial), (Requests{.list = 1}));
  EXPECT_EQ(run.refresh_after({}, *trial), (Requests{.list = 1}));
}

TEST(RefreshRequests, with_news_are_one_listing_and_one_read_for_each_new_index_object) {
  CountedRun run;
  run.writer.save_steps({0});
  const auto trial = run.open();
  EXPECT_EQ(run.refresh_after({1}, *trial), (Requests{.list = 1, .get = 1}));
  EXPECT_EQ(run.refresh_after({2, 3, 4, 5, 6, 7, 8}, *trial), (Requests{.list = 1, .get = 7}));
  EXPECT_THAT(trial->steps(), SizeIs(9));
}

TEST(RefreshRequests, of_a_run_without_steps_are_as_few) {
  CountedRun run;
  const auto trial = run.open();
  EXPECT_EQ(run.refresh_after({}, *trial), (Requests{.list = 1}));
  EXPECT_EQ(run.refresh_after({0}, *trial), (Requests{.list = 1, .get = 1}));
}

TEST(RefreshRequests, with_many_workers_are_as_few) {
  FarRun run;
  std::vector<WorkerWriter> writers;
  for (const char* name : {"a", "b", "c", "d"}) writers.push_back(run.worker({name, 4}));
  for (WorkerWriter& writer : writers) writer.save_steps({0, 1});
  const auto trial = run.open();
  EXPECT_EQ(run.spent([&] { trial->refresh(); }), (Requests{.list = 1}));
  for (WorkerWriter& writer : writers) writer.save_steps({2});
  EXPECT_EQ(run.spent([&] { trial->refresh(); }), (Requests{.list = 1, .get = 4}));
  EXPECT_EQ(trial->last_complete_step(), 2);
}

TEST(RefreshRequests, are_two_more_where_a_collection_has_changed) {
  CountedRun run;
  run.writer.collection("mine", {}, {"w"}).save(0, {raw("loss", {1})});
  const auto trial = run.open();
  run.writer.collection("mine", {}, {"loss"});
  EXPECT_EQ(run.refresh_after({1}, *trial), (Requests{.list = 2, .get = 2}));
  EXPECT_THAT(trial->tensor_names({.step = 1, .collection = "mine"}), ElementsAre("loss"));
  EXPECT_EQ(run.refresh_after({2}, *trial), (Requests{.list = 1, .get = 1}));
}

TEST(RefreshRequests, ask_for_collections_where_segments_do_not_name_the_ones_they_need) {
  CountedRun run;
  const auto trial = run.open();
  IndexWriter index({"cafe", "worker_0", 0, 0}, {});
  IndexRow row;
  row.tensor = "loss";
  index.encode_step({0, Mode::Train, 0, 0}, {&row, 1});
  run.store->put(SegmentName{0, 0, "worker_0"}.index_key(), index.seal(), Durability::Cached);
  EXPECT_EQ(run.spent([&] { trial->refresh(); }), (Requests{.list = 2, .get = 1}));
}

TEST(RefreshRequests, at_the_end_ask_for_all_files_once_more) {
  CountedRun run;
  const auto trial = run.open();
  run.writer.finish();
  // The listing that shows the marker; index and collections behind it.
  EXPECT_EQ(run.refresh_after({}, *trial), (Requests{.list = 3}));
  EXPECT_TRUE(trial->ended());
  EXPECT_EQ(run.spent([&] { trial->refresh(); }), (Requests{}));
  EXPECT_EQ(run.spent([&] { trial->steps(); }), (Requests{}));
}

TEST(RefreshRequests, are_made_by_queries_when_the_last_poll_is_old_enough) {
  CountedRun run;
  const auto trial = run.open({.polling = {.min_interval = milliseconds(250)}});
  const auto query = [&] { trial->steps(); };
  EXPECT_EQ(run.spent(query), (Requests{}));
  run.clock->pass(milliseconds(249));
  EXPECT_EQ(run.spent(query), (Requests{}));
  run.clock->pass(milliseconds(1));
  EXPECT_EQ(run.spent(query), (Requests{.list = 1}));
  EXPECT_EQ(run.spent(query), (Requests{}));
}

TEST(RefreshRequests, are_not_more_where_much_else_is_behind_the_index) {
  CountedRun run;
  run.writer.save_steps({0});
  const auto trial = run.open();
  for (int i = 0; i < 3000; ++i)
    run.store->inner().put("models/" + std::to_string(i), {}, Durability::Cached);
  trial->refresh();
  // The marker is asked for by its name then.
  EXPECT_EQ(run.refresh_after({1}, *trial), (Requests{.list = 1, .get = 1, .head = 1}));
  run.writer.finish();
  trial->refresh();
  EXPECT_TRUE(trial->ended());
}

TEST(OpeningRequests, are_few_beside_one_read_for_each_index_object) {
  CountedRun run;
  for (std::int64_t step = 0; step < 300; ++step) run.writer.save_steps({step});
  // The collections, the marker and the index.
  EXPECT_EQ(run.spent([&] { EXPECT_THAT(run.open()->steps(), SizeIs(300)); }),
            (Requests{.list = 2, .get = 301, .head = 1}));
}

TEST(OpeningRequests, of_many_workers_are_a_listing_and_a_read_each_more) {
  FarRun run;
  for (int i = 0; i < 8; ++i) {
    WorkerWriter writer = run.worker({"w" + std::to_string(i), 8});
    for (std::int64_t step = 0; step < 50; ++step) writer.save_steps({step});
    writer.close();
  }
  EXPECT_EQ(run.spent([&] { EXPECT_THAT(run.open()->steps(), SizeIs(50)); }),
            (Requests{.list = 3, .get = 408, .head = 1}));
}

TEST(OpeningRequests, of_an_ended_run_are_no_more) {
  CountedRun run;
  run.writer.save_steps({0, 1, 2}).finish();
  EXPECT_EQ(run.spent([&] { EXPECT_TRUE(run.open()->ended()); }),
            (Requests{.list = 3, .get = 4, .head = 1}));
}

TEST(OpeningRequests, of_a_range_of_steps_read_only_segments_that_may_hold_them) {
  CountedRun run;
  for (std::int64_t step = 0; step < 50; ++step) run.writer.save_steps({step});
  EXPECT_EQ(run.spent([&] { run.open({.range_steps = {20, 25}}); }).get, 1 + 5);
}

TEST(OpeningRequests, of_a_run_that_is_waited_for_become_rare) {
  FarRun run;
  const Requests spent = run.spent([&] {
    EXPECT_THROW(run.open({.wait_for_run = std::chrono::minutes(10)}), MissingCollectionFiles);
  });
  EXPECT_GE(run.clock->passed(), std::chrono::minutes(10));
  EXPECT_LT(spent.all(), 10 * 2 * 15);  // a listing and the marker, at most 15 times a minute
}

struct ValueRun : FarRun {
  WorkerWriter writer = worker();
  ValueRun() {
    for (std::int64_t step = 0; step < 20; ++step) {
      std::vector<SavedTensor> tensors = {scalar("loss", 1)};
      for (int i = 0; i < 30; ++i)
        tensors.push_back(filled("w" + std::to_string(i), 100, static_cast<float>(step)));
      writer.save(step, std::move(tensors));
    }
  }
};

TEST(ValueRequests, of_one_value_are_one_read) {
  const ValueRun run;
  const auto trial = run.open();
  EXPECT_EQ(run.spent([&] { EXPECT_EQ(trial->tensor("w3").value(7).at(5), 7); }),
            (Requests{.get = 1}));
}

TEST(ValueRequests, of_what_is_in_the_index_are_none) {
  const ValueRun run;
  const auto trial = run.open();
  EXPECT_EQ(run.spent([&] { EXPECT_EQ(trial->tensor("loss").value(7).at(0), 1); }), (Requests{}));
}

TEST(ValueRequests, of_what_is_kept_are_none) {
  const ValueRun run;
  const auto trial = run.open();
  RunFollower(*trial).keep_values(1U << 20U);
  trial->tensor("w3").value(7);
  const auto other = trial->view();
  EXPECT_EQ(run.spent([&] { EXPECT_EQ(other->tensor("w3").value(7).at(5), 7); }), (Requests{}));
}

TEST(ValueRequests, of_neighbours_in_a_step_are_one) {
  const ValueRun run;
  const auto trial = run.open();
  NameSelection all(std::vector<std::string>(), "^w");
  const Requests spent = run.spent([&] {
    trial->visit_step(7, all,
                      [](const RecordView& record) { EXPECT_EQ(record.value()->at(0), 7); });
  });
  EXPECT_EQ(spent, (Requests{.get = 1}));
}

TEST(ValueRequests, of_a_tensor_at_many_steps_are_one_for_each_object) {
  const ValueRun run;
  const auto trial = run.open();
  EXPECT_EQ(run.spent([&] { EXPECT_THAT(trial->tensor("w3").values(), SizeIs(20)); }),
            (Requests{.get = 20}));
}

TEST(ValueRequests, of_workers_at_a_step_are_one_for_each) {
  FarRun run;
  for (const char* name : {"a", "b", "c"})
    run.worker({name, 3}).save(0, {filled("labels_0", 50, 1), filled("labels_1", 50, 2)});
  const auto trial = run.open();
  NameSelection all(std::vector<std::string>(), ".");
  EXPECT_EQ(run.spent([&] {
    trial->visit_step(0, all, [](const RecordView& record) { EXPECT_TRUE(record.value()); });
  }),
            (Requests{.get = 3}));
}

TEST(ValueRequests, of_a_huge_value_ask_for_the_size_of_the_file_first) {
  // 65 MiB that the index claims, and the object does not hold.
  FarRun run;
  WorkerWriter writer = run.worker();
  IndexWriter index({"cafe", "worker_0", 0, 0}, {});
  IndexRow row;
  row.tensor = "w";
  row.elements = std::int64_t{65} << 18U;
  row.location = ValueLocation{64, std::uint64_t{65} << 20U, 0};
  index.encode_step({0, Mode::Train, 0, 0}, {&row, 1});
  const SegmentName name{0, 0, "worker_0"};
  run.store->put(name.events_key(), std::vector<std::byte>(100), Durability::Cached);
  run.store->put(name.index_key(), index.seal(), Durability::Cached);
  const auto trial = run.open();
  EXPECT_EQ(run.spent([&] { EXPECT_THROW(trial->tensor("w").value(0), FormatError); }),
            (Requests{.head = 1}));
}

}  // namespace
}  // namespace cupel::testing
