// Runs that change under a trial as no writer changes them: they are removed, cut, overwritten, or
// replaced by others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "cupel/core/error.h"
#include "cupel/format/format_limits.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/run_follower.h"
#include "cupel/writer/hook.h"
#include "store/scratch_directory.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The error of a call; "" if it throws nothing.
template <class F>
std::string told(F&& call) {
  try {
    static_cast<void>(call());
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

/// A run in a directory, watched by notifications or by polling.
class ChangedRun : public ::testing::TestWithParam<WatchMethod> {
 protected:
  const ScratchDirectory directory;
  const std::string path = (directory / "run").string();
  const std::shared_ptr<LocalStore> store = std::make_shared<LocalStore>(path, GetParam());

  WorkerWriter worker(WorkerSpec spec = {}) const { return WorkerWriter(*store, std::move(spec)); }
  void cut(const std::string& key, std::uint64_t size) const {
    fs::resize_file(fs::path(path) / key, size);
  }
  /// A whole run of a hook, in place of what is there.
  void replace(std::int64_t steps) const {
    HookOptions options;
    options.out_dir = path;
    options.existing = Existing::Replace;
    options.worker = "worker_0";
    options.sync = Sync::Off;
    Hook hook(options);
    for (std::int64_t step = 0; step < steps; ++step) {
      hook.next_step();
      hook.save_scalar("loss", 100 + static_cast<double>(step));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Watched, ChangedRun,
                         ::testing::Values(WatchMethod::Notify, WatchMethod::Poll),
                         [](const auto& row) {
                           return row.param == WatchMethod::Notify ? "by_notifications"
                                                                   : "by_looking";
                         });

TEST_P(ChangedRun, is_followed_from_before_its_first_step_to_its_end) {
  WorkerWriter writer = worker();
  const Trial trial(store);
  for (std::int64_t step = 0; step < 5; ++step) {
    writer.save(step, {filled("w", 100, static_cast<float>(step))});
    ASSERT_EQ(trial.last_complete_step(), step);
    ASSERT_EQ(trial.tensor("w").value(step).at(99), static_cast<double>(step));
    if (step % 2 == 0) writer.seal();
  }
  worker({"worker_0", 1, 1}).save_steps({3}).finish();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(trial.ended());
}

TEST_P(ChangedRun, is_waited_for_step_by_step) {
  WorkerWriter writer = worker();
  const Trial trial(store);
  std::jthread training([&] {
    for (std::int64_t step = 0; step < 8; ++step) writer.save_steps({step});
    writer.finish();
  });
  for (std::int64_t step = 0; step < 8; ++step) EXPECT_NO_THROW(trial.wait_for_steps({step}));
  EXPECT_THROW(trial.wait_for_steps({8}), NoMoreData);
}

TEST_P(ChangedRun, wakes_a_follower_when_something_was_written) {
  WorkerWriter writer = worker();
  const Trial trial(store);
  RunFollower follower(trial);
  static_cast<void>(follower.wait_for_change(milliseconds(0)));
  std::jthread training([&] { writer.save_steps({0}); });
  EXPECT_TRUE(follower.wait_for_change(milliseconds(60'000)));
}

TEST_P(ChangedRun, that_is_removed_is_reported_and_keeps_what_was_read) {
  worker().save_steps({0, 1}).seal().save_steps({2});
  const Trial trial(store);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  fs::remove_all(path);
  EXPECT_THAT(told([&] { return trial.steps(); }), HasSubstr("the run was removed"));
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.tensor("loss").value(2).at(0), 2);
  EXPECT_FALSE(trial.ended());
}

TEST_P(ChangedRun, that_is_removed_is_reported_by_each_refresh) {
  worker().save_steps({0});
  const Trial trial(store);
  fs::remove_all(path);
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(told([&] { return trial.refresh(); }), HasSubstr("the run was removed"));
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST_P(ChangedRun, of_many_workers_that_is_removed_is_reported_once) {
  for (const char* name : {"a", "b", "c"}) worker({name, 3}).save_steps({0});
  const Trial trial(store);
  fs::remove_all(path);
  EXPECT_THAT(told([&] { return trial.steps(); }), HasSubstr("the run was removed"));
  EXPECT_EQ(told([&] { return trial.steps(); }), "");
  EXPECT_EQ(told([&] { return trial.workers(); }), "");
}

TEST_P(ChangedRun, that_is_removed_ends_a_wait) {
  worker().save_steps({0});
  const Trial trial(store);
  RunFollower follower(trial);
  static_cast<void>(follower.wait_for_change(milliseconds(0)));
  std::jthread other([&] { fs::remove_all(path); });
  EXPECT_THROW(trial.wait_for_steps({1}), FormatError);
  EXPECT_TRUE(follower.wait_for_change(milliseconds(60'000)));
}

TEST_P(ChangedRun, that_is_removed_is_not_taken_up_again) {
  worker().save_steps({0});
  const Trial trial(store);
  fs::remove_all(path);
  EXPECT_THROW(trial.refresh(), FormatError);
  worker().save_steps({0, 1, 2});
  EXPECT_THROW(trial.refresh(), FormatError);
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST_P(ChangedRun, that_is_removed_leaves_pinned_views_as_they_are) {
  worker().save_steps({0, 1});
  const Trial trial(store);
  const auto view = trial.view();
  const NoRefresh pin(*view);
  fs::remove_all(path);
  EXPECT_THAT(view->steps(), ElementsAre(0, 1));
  EXPECT_THROW(trial.refresh(), FormatError);
  EXPECT_EQ(view->tensor("loss").value(1).at(0), 1);
}

TEST_P(ChangedRun, that_has_ended_and_is_removed_answers_from_what_was_read) {
  worker().save(0, {filled("w", 100, 1), scalar("loss", 1)}).finish();
  const Trial trial(store);
  EXPECT_TRUE(trial.ended());
  fs::remove_all(path);
  EXPECT_FALSE(trial.refresh());
  EXPECT_EQ(trial.tensor("loss").value(0).at(0), 1);
  EXPECT_THROW(trial.tensor("w").value(0), Error);
}

TEST_P(ChangedRun, does_not_miss_a_sealed_index_file_that_it_has_read) {
  WorkerWriter writer = worker();
  writer.save(0, {filled("w", 100, 7)}).seal();
  const std::string sealed = writer.index_key();
  const Trial trial(store);
  EXPECT_THAT(trial.steps(), ElementsAre(0));
  store->remove(sealed);
  writer.save(1, {filled("w", 100, 8)});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_EQ(trial.tensor("w").value(0).at(0), 7);
}

TEST_P(ChangedRun, reports_an_open_index_file_that_has_become_shorter) {
  WorkerWriter writer = worker();
  writer.save_steps({0, 1});
  const Trial trial(store);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  cut(writer.index_key(), store->stat(writer.index_key())->size - 1);
  EXPECT_THAT(told([&] { return trial.refresh(); }),
              AllOf(HasSubstr(writer.index_key()), HasSubstr("has become shorter")));
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST_P(ChangedRun, reports_an_events_file_that_was_cut_behind_values_that_were_read) {
  WorkerWriter writer = worker();
  writer.save(0, {filled("w", 100, 1)}).save(1, {filled("w", 100, 2)});
  const Trial trial(store);
  EXPECT_EQ(trial.tensor("w").value(1).at(0), 2);
  cut(writer.events_key(), writer.last_location().offset + 8);
  EXPECT_THAT(told([&] { return trial.tensor("w").value(1); }),
              AllOf(HasSubstr(writer.events_key()), HasSubstr("ends inside the value")));
  EXPECT_EQ(trial.tensor("w").value(0).at(0), 1);
}

TEST_P(ChangedRun, reports_an_events_file_that_was_overwritten) {
  WorkerWriter writer = worker();
  writer.save(0, {filled("w", 100, 1)});
  const Trial trial(store);
  EXPECT_EQ(trial.tensor("w").value(0).at(0), 1);
  store->put(writer.events_key(),
             std::vector<std::byte>(store->stat(writer.events_key())->size, std::byte{7}));
  EXPECT_THAT(told([&] { return trial.tensor("w").value(0); }), HasSubstr("checksum"));
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

TEST_P(ChangedRun, goes_on_without_one_of_its_collections_files) {
  WorkerWriter a = worker({"a", 2}), b = worker({"b", 2});
  b.collection("mine", {"loss"});
  a.save_steps({0});
  b.save_steps({0});
  const Trial trial(store);
  store->remove(collections_key("b"));
  EXPECT_THAT(told([&] { return trial.refresh(); }),
              AllOf(HasSubstr(collections_key("b")), HasSubstr("is gone")));
  a.save_steps({1});
  b.save_steps({1});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_EQ(trial.num_workers(), 2);
  EXPECT_THAT(trial.tensor_names({.collection = "mine"}), ElementsAre("loss"));
}

TEST_P(ChangedRun, keeps_what_a_collections_file_said_before_it_was_damaged) {
  WorkerWriter writer = worker();
  writer.collection("mine", {"loss"}).save_steps({0});
  const Trial trial(store);
  store->put(collections_key("worker_0"), std::as_bytes(std::span("{", 1)));
  EXPECT_THAT(told([&] { return trial.steps(); }), HasSubstr(collections_key("worker_0")));
  writer.save_steps({1});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_THAT(trial.tensor_names({.collection = "mine"}), ElementsAre("loss"));
  EXPECT_THROW(trial.refresh(), FormatError);
}

TEST_P(ChangedRun, keeps_what_a_collections_file_said_before_it_was_too_long) {
  FormatLimits limits;
  limits.collections_file = 5000;
  const format_detail::FormatLimitsForTest low(limits);
  WorkerWriter writer = worker();
  writer.collection("mine", {"loss"}).save_steps({0});
  const Trial trial(store);
  store->put(collections_key("worker_0"), std::vector<std::byte>(5001));
  EXPECT_THAT(told([&] { return trial.steps(); }),
              AllOf(HasSubstr(collections_key("worker_0")), HasSubstr("too long")));
  writer.save_steps({1});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
  EXPECT_THAT(trial.tensor_names({.collection = "mine"}), ElementsAre("loss"));
}

TEST_P(ChangedRun, reports_a_new_workers_damaged_collections_file_once) {
  WorkerWriter writer = worker({"a", 2});
  writer.save_steps({0});
  const Trial trial(store);
  store->put(collections_key("b"), std::as_bytes(std::span("{", 1)));
  EXPECT_THAT(told([&] { return trial.steps(); }), HasSubstr(collections_key("b")));
  writer.save_steps({1});
  EXPECT_EQ(told([&] { return trial.steps(); }), "");
}

TEST_P(ChangedRun, that_is_replaced_names_both_and_shows_only_the_one_that_was_opened) {
  WorkerWriter writer = worker();
  writer.save_steps({0, 1}).seal().save_steps({2});
  const Trial trial(store);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  replace(20);
  const std::string text = told([&] { return trial.refresh(); });
  EXPECT_THAT(text, HasSubstr("the run was replaced by another one"));
  EXPECT_THAT(text, HasSubstr("run cafe, and now there is run "));
  EXPECT_EQ(told([&] { return trial.refresh(); }), text);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.tensor("loss").value(1).at(0), 1);
  EXPECT_FALSE(trial.ended());
  EXPECT_THROW(trial.wait_for_steps({19}), FormatError);
  EXPECT_EQ(Trial(store).tensor("loss").value(19).at(0), 119);
}

TEST_P(ChangedRun, that_is_replaced_before_its_first_step_shows_nothing_of_the_other) {
  worker();
  const Trial trial(store);
  replace(3);
  EXPECT_THAT(told([&] { return trial.steps(); }), HasSubstr("replaced"));
  EXPECT_TRUE(trial.steps().empty());
}

TEST_P(ChangedRun, that_is_replaced_by_one_that_was_restarted_is_not_a_restart) {
  worker().save_steps({0, 1, 2});
  const Trial trial(store);
  fs::remove_all(path);
  replace(0);
  store->remove(kEndMarker);
  {
    HookOptions options;
    options.worker = "worker_0";
    Hook restarted(options, store);
    restarted.next_step();
    restarted.save_scalar("loss", 100);
  }
  EXPECT_THAT(told([&] { return trial.steps(); }), HasSubstr("replaced"));
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial.tensor("loss").value(0).at(0), 0);
}

TEST_P(ChangedRun, takes_nothing_from_an_index_file_of_another_run) {
  WorkerWriter writer = worker();
  writer.save_steps({0});
  const Trial trial(store);
  IndexWriter other({"beef", "worker_0", 0, 0}, {});
  IndexRow row;
  row.tensor = "loss";
  std::vector<std::byte> bytes = other.encode_step({0, Mode::Train, 0, 0}, {&row, 1});
  const auto more = other.encode_step({1, Mode::Train, 1, 0}, {&row, 1});
  bytes.insert(bytes.end(), more.begin(), more.end());
  store->put(writer.index_key(), bytes);
  EXPECT_THAT(told([&] { return trial.steps(); }),
              AllOf(HasSubstr("of run beef"), HasSubstr("of run cafe")));
  EXPECT_THAT(trial.steps(), ElementsAre(0));
}

void name_run(Store& store, const std::string& worker, const std::string& run,
              std::int32_t attempt) {
  store.put(collections_key(worker), encode_collections_file({2, run, worker, attempt, {}}));
}

TEST_P(ChangedRun, is_not_replaced_by_workers_that_agree_on_its_name) {
  name_run(*store, "a", "aaaa", 0);
  name_run(*store, "b", "bbbb", 0);
  const Trial trial(store);
  name_run(*store, "a", "bbbb", 1);
  EXPECT_NO_THROW(trial.refresh());
  name_run(*store, "b", "cccc", 1);
  EXPECT_THROW(trial.refresh(), FormatError);
}

TEST_P(ChangedRun, treats_one_of_several_workers_that_replaces_its_files_as_a_restart) {
  worker({"worker_0", 2}).save_steps({0, 1}).close();
  worker({"worker_1", 2}).save_steps({0, 1}).close();
  const Trial trial(store);
  HookOptions options;
  options.include_workers = "all";
  options.num_workers = 2;
  options.worker = "worker_1";
  options.existing = Existing::Replace;
  Hook hook(options, store);
  hook.next_step();
  hook.save_scalar("loss", 100);
  hook.next_step();
  EXPECT_THAT(trial.steps(), ElementsAre(0));
  EXPECT_EQ(trial.tensor("loss").value(0, Mode::Global, "worker_1").at(0), 100);
}

/// A store whose listings miss a collections file, as a directory's may while the file is renamed.
class ForgetfulStore final : public StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    std::vector<ObjectInfo> listed = StoreWrapper::list(prefix, after);
    if (prefix == kCollectionsPrefix && forgets) listed.clear();
    return listed;
  }
  bool forgets = false;
};

TEST_P(ChangedRun, does_not_miss_a_collections_file_that_only_a_listing_misses) {
  worker().collection("mine", {"loss"}).save_steps({0});
  const auto forgetful = std::make_shared<ForgetfulStore>(store);
  const Trial trial(forgetful);
  forgetful->forgets = true;
  EXPECT_NO_THROW(trial.refresh());
  EXPECT_THAT(trial.tensor_names({.collection = "mine"}), ElementsAre("loss"));
}

}  // namespace
}  // namespace cupel::testing
