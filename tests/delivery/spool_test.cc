// A hook whose store cannot append: the uploads, and the rest in the spool when they fail.

#include "cupel/delivery/spool.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "spool_fixture.h"
#include "writer/environment_guard.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(SpoolTest, a_training_costs_two_requests_a_segment_beside_a_few_for_the_run) {
  options.segment_bytes = 1;
  auto hook = make_hook();
  const std::size_t at_start = remote_->requests();
  train(*hook, 20);
  EXPECT_THAT(hook->close().problems, IsEmpty());
  EXPECT_EQ(remote_->requests("put"), 2U * 20U + 3U) << "and collections twice, and the end";
  EXPECT_LE(remote_->requests("stat"), at_start + 2) << "looks for a request to stop";
  EXPECT_EQ(defect(19), "");
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(SpoolTest, goes_when_all_is_uploaded) {
  auto hook = make_hook();
  train(*hook, 3);
  EXPECT_TRUE(has_spool());
  hook->close();
  EXPECT_FALSE(has_spool());
  EXPECT_TRUE(fs::is_empty(options.spool_dir));
}

TEST_F(SpoolTest, is_an_ordinary_run_as_long_as_it_is_written) {
  fail_puts("connection refused");
  options.segment_bytes = 1;
  auto hook = make_hook();
  train(*hook, 3);
  const auto trial = create_trial(spool_directory());
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  remote_->work_again();
}

TEST_F(SpoolTest, sealed_segments_are_seen_while_the_training_goes_on) {
  options.segment_bytes = 1;
  auto hook = make_hook();
  train(*hook, 3);
  while (remote_->puts(kIndexPrefix).size() < 2) std::this_thread::yield();
  const auto trial = open_trial();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  EXPECT_FALSE(trial->ended());
}

TEST_F(SpoolTest, segments_are_sealed_sooner_than_where_open_ones_can_be_read) {
  EXPECT_FALSE(options.segment_age);
  options.segment_age = 10ms;
  auto hook = make_hook();
  train(*hook, 1);
  hook->next_step();
  while (remote_->puts(kIndexPrefix).empty()) std::this_thread::yield();
}

TEST_F(SpoolTest, an_outage_in_the_middle_costs_nothing) {
  options.segment_bytes = 1;
  auto hook = make_hook();
  train(*hook, 5);
  remote_->fail_all();
  train(*hook, 5);
  remote_->work_again();
  train(*hook, 5);
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.steps_not_uploaded, 0);
  EXPECT_EQ(defect(14), "");
}

TEST_F(SpoolTest, commits_do_not_wait_for_a_store_that_hangs) {
  options.segment_bytes = 1;
  auto hook = make_hook();
  remote_->block();
  train(*hook, 20);
  EXPECT_EQ(hook->committed_step(), 18);
  remote_->unblock();
  hook->close();
  EXPECT_EQ(defect(19), "");
}

TEST_F(SpoolTest, notes_report_that_uploads_fall_behind_and_catch_up) {
  options.segment_age = 100ms;
  auto hook = make_hook();
  const auto train_until_noted = [&](std::size_t notes, auto&& open) {
    do {
      const auto look_again_at = std::chrono::steady_clock::now() + 20ms;
      while (std::chrono::steady_clock::now() < look_again_at) train(*hook, 1);
    } while (open()->notes().size() < notes);
  };
  fail_puts("connection refused");
  train_until_noted(1, [&] { return create_trial(spool_directory()); });
  remote_->work_again();
  while (remote_->puts(kIndexPrefix).empty()) train(*hook, 1);
  train_until_noted(2, [&] { return open_trial(); });
  const HookReport report = hook->close();
  ASSERT_GE(report.notes.size(), 2U) << "on a busy machine more of them";
  EXPECT_THAT(report.notes[0],
              AllOf(HasSubstr(R"("kind":"uploads_behind")"), HasSubstr("connection refused")));
  EXPECT_THAT(report.notes[1], HasSubstr(R"("kind":"uploads_recovered")"));
  EXPECT_THAT(open_trial()->notes(), SizeIs(report.notes.size()));
}

TEST_F(SpoolTest, a_store_that_refuses_is_in_the_report) {
  options.close_timeout = 50ms;
  auto hook = make_hook();
  fail_puts("access denied", false);
  train(*hook, 3);
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_EQ(report.steps_not_uploaded, 3);
  EXPECT_THAT(report.problems, ElementsAre(AllOf(HasSubstr("refused"), HasSubstr("access denied")),
                                           HasSubstr("3 steps")));
  EXPECT_EQ(logged_.find("access denied"), logged_.rfind("access denied")) << "logged once";
}

TEST_F(SpoolTest, close_waits_until_its_timeout_and_reports_the_rest_and_the_command) {
  options.close_timeout = 50ms;
  options.segment_bytes = 1;
  auto hook = make_hook();
  train(*hook, 2);
  while (remote_->puts(kIndexPrefix).empty()) std::this_thread::yield();
  remote_->block();
  train(*hook, 4);
  const HookReport report = hook->close();
  EXPECT_FALSE(report.disabled);
  EXPECT_GE(report.steps_not_uploaded, 4);
  EXPECT_GT(report.bytes_not_uploaded, 4U * 400U);
  EXPECT_THAT(report.problems, ElementsAre(AllOf(HasSubstr("and the end of the run"),
                                                 HasSubstr("cupel sync " + spool_directory()))));
  remote_->unblock();
}

TEST_F(SpoolTest, the_rest_after_close_is_delivered_later) {
  options.close_timeout = 0ms;
  options.segment_bytes = 1;
  auto hook = make_hook();
  remote_->fail_all();
  train(*hook, 5);
  hook->close();
  hook.reset();
  remote_->work_again();
  const DeliverReport report = deliver();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.segments_uploaded, 5U);
  EXPECT_EQ(report.destination.url, "s3://bucket/run");
  EXPECT_EQ(defect(4), "");
  EXPECT_TRUE(open_trial()->ended());
  connect_again();
  EXPECT_TRUE(deliver().ok()) << "again, and nothing is left";
  EXPECT_EQ(remote_->requests(), 0U);
}

TEST_F(SpoolTest, files_that_cannot_be_delivered_are_reported_and_stay) {
  options.close_timeout = 0ms;
  auto hook = make_hook();
  remote_->fail_all();
  train(*hook, 5);
  hook->close();
  hook.reset();
  fail_puts("connection refused");
  const DeliverReport report = deliver();
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.left.steps, 5);
  EXPECT_TRUE(report.left.end);
  EXPECT_THAT(report.left.why, HasSubstr("connection refused"));
  connect_again();
  EXPECT_TRUE(deliver().ok());
  EXPECT_EQ(defect(4), "");
}

TEST_F(SpoolTest, is_not_delivered_while_its_hook_lives) {
  auto hook = make_hook();
  train(*hook, 1);
  EXPECT_THROW(deliver(), UsageError);
  EXPECT_THROW(make_hook(), UsageError) << "a second writer of the same worker";
  hook->close();
  EXPECT_EQ(defect(0), "");
}

TEST_F(SpoolTest, several_workers_have_several) {
  options.include_workers = "all";
  options.num_workers = 2;
  options.worker = "worker_0";
  auto zero = make_hook();
  options.worker = "worker_1";
  auto one = make_hook();
  train(*zero, 3);
  train(*one, 3);
  std::jthread other([&] { one->close(); });
  zero->close();
  other.join();
  const auto trial = open_trial();
  EXPECT_TRUE(trial->ended());
  EXPECT_THAT(trial->workers(), ElementsAre("worker_0", "worker_1"));
  EXPECT_THAT(trial->steps(), SizeIs(3));
}

TEST_F(SpoolTest, a_worker_that_was_too_slow_ends_the_run_later) {
  options.include_workers = "all";
  options.num_workers = 2;
  options.worker = "worker_0";
  auto zero = make_hook();
  train(*zero, 3);
  options.worker = "worker_1";
  options.close_timeout = 0ms;
  auto one = make_hook();
  remote_->block();
  train(*one, 3);
  EXPECT_EQ(one->close().steps_not_uploaded, 3);
  one.reset();
  remote_->unblock();
  zero->close();
  EXPECT_FALSE(open_trial()->ended());
  EXPECT_TRUE(deliver("worker_1").ok());
  EXPECT_TRUE(open_trial()->ended());
  EXPECT_EQ(defect(2), "");
}

TEST_F(SpoolTest, is_in_the_directory_that_the_environment_names) {
  testing::EnvironmentGuard environment;
  const testing::ScratchDirectory elsewhere;
  const auto parent = [&] {
    return fs::path(Spool::directory_of("", {"s3://bucket/run", "worker_0"}))
        .parent_path()
        .parent_path()
        .string();
  };
  environment.set("CUPEL_SPOOL_DIR", elsewhere.path().c_str());
  EXPECT_EQ(parent(), elsewhere.path());
  environment.set("CUPEL_SPOOL_DIR", "");
  environment.set("XDG_STATE_HOME", elsewhere.path().c_str());
  EXPECT_EQ(parent(), elsewhere.path() + "/cupel/spool");
  environment.set("XDG_STATE_HOME", "");
  environment.set("HOME", elsewhere.path().c_str());
  EXPECT_EQ(parent(), elsewhere.path() + "/.local/state/cupel/spool");
  environment.set("HOME", "");
  EXPECT_THROW(parent(), UsageError);
}

TEST_F(SpoolTest, of_another_run_or_worker_is_another_directory) {
  const auto place = [](const char* url, const char* worker) {
    return Spool::directory_of("/spools", {url, worker});
  };
  EXPECT_EQ(place("s3://a/b", "worker_0"), place("s3://a/b", "worker_0"));
  EXPECT_NE(place("s3://a/b", "worker_0"), place("s3://a/c", "worker_0"));
  EXPECT_NE(place("s3://a/b", "worker_0"), place("s3://a/b", "worker_1"));
  EXPECT_THROW(place("s3://a/b", "../x"), UsageError);
}

TEST_F(SpoolTest, of_another_destination_is_not_used) {
  const testing::ScratchDirectory place;
  { const Spool spool(place.path(), {"s3://a/b", "worker_0"}); }
  EXPECT_THROW(Spool(place.path(), {"s3://a/c", "worker_0"}), UsageError);
  EXPECT_EQ(Spool::destination_of(place.path())->url, "s3://a/b");
  EXPECT_FALSE(Spool::destination_of((place / "absent").string()));
}

TEST_F(SpoolTest, whose_address_is_damaged_is_an_error) {
  const testing::ScratchDirectory place;
  place.add_to_file("spool.json", "{\"url\": 3}");
  EXPECT_THROW(Spool::destination_of(place.path()), FormatError);
  EXPECT_THROW(Spool(place.path(), {"s3://a/b", "worker_0"}), FormatError);
}

TEST_F(SpoolTest, is_found_below_any_of_its_directories) {
  const testing::ScratchDirectory base;
  std::vector<std::string> made;
  for (const char* worker : {"worker_0", "worker_1"}) {
    made.push_back(Spool::directory_of(base.path(), {"s3://a/b", worker}));
    const Spool spool(made.back(), {"s3://a/b", worker});
  }
  EXPECT_EQ(Spool::find(base.path()), made);
  EXPECT_EQ(Spool::find(fs::path(made[0]).parent_path().string()), made);
  EXPECT_THAT(Spool::find(made[1]), ElementsAre(made[1]));
  EXPECT_THAT(Spool::find((base / "absent").string()), IsEmpty());
}

TEST_F(SpoolTest, a_request_to_stop_is_looked_for_in_the_background) {
  auto hook = make_hook();
  hook->next_step();
  std::atomic<int> asked = 0;
  remote_->before([&, training = std::this_thread::get_id()](std::string_view, std::string_view) {
    if (std::this_thread::get_id() == training) ++asked;
  });
  remote_->content()->put(kStopFile, {});
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (!hook->stop_requested() && std::chrono::steady_clock::now() < until) hook->next_step();
  EXPECT_TRUE(hook->stop_requested());
  EXPECT_EQ(asked, 0) << "requests that a step waited for";
  remote_->work_again();
}

TEST_F(SpoolTest, with_s3_sync_off_the_spool_is_an_ordinary_run_and_the_store_is_not_asked) {
  options.s3_sync = S3Sync::Off;
  options.out_dir = "s3://bucket/of/others";
  Hook hook(options);  // this program could not open it
  train(hook, 3);
  EXPECT_THAT(hook.close().problems, IsEmpty());
  const std::string place = Spool::directory_of(options.spool_dir, {options.out_dir, "worker_0"});
  const auto trial = create_trial(place);
  EXPECT_THAT(trial->steps(), SizeIs(3));
  EXPECT_TRUE(trial->ended());
  EXPECT_THROW(Hook(options).close(), UsageError) << "the run that is there counts";
}

TEST_F(SpoolTest, illegal_options_are_refused) {
  const auto refuses = [&](auto change) {
    HookOptions illegal = options;
    change(illegal);
    EXPECT_THROW(Hook(illegal, remote_), UsageError);
  };
  refuses([](HookOptions& o) { o.spool_bytes = 1000; });
  refuses([](HookOptions& o) { o.upload_parallelism = 0; });
  refuses([](HookOptions& o) { o.upload_parallelism = 65; });
  refuses([](HookOptions& o) { o.close_timeout = -1ms; });
  refuses([](HookOptions& o) { o.segment_age = 0ms; });
  EXPECT_FALSE(has_spool());
}

TEST_F(SpoolTest, a_store_that_cannot_be_asked_is_an_error_of_the_constructor_and_leaves_nothing) {
  remote_->fail_all();
  EXPECT_THROW(make_hook(), StoreError);
  EXPECT_FALSE(has_spool());
}

}  // namespace
}  // namespace cupel
