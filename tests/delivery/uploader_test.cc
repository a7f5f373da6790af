#include "../../delivery/src/uploader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "core/log_capture.h"
#include "cupel/trial/trial.h"
#include "fake_remote.h"
#include "trial/run_builder.h"

namespace cupel::testing {
namespace {

using delivery_detail::Uploader;

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class UploaderTest : public ::testing::Test {
 protected:
  UploaderTest() { options_.first_pause = options_.longest_pause = options_.refused_pause = 1ms; }
  ~UploaderTest() override {
    uploader_.reset();
    EXPECT_THAT(remote_->offences(), IsEmpty());
  }

  void start() {
    uploader_.emplace(run_, remote_, "worker_0", options_,
                      [this](std::uint64_t bytes) { removed_ += bytes; });
    uploader_->collections_changed();
  }
  // A sealed segment of one step; its name.
  SegmentName segment(std::int64_t step, bool with_values = true) {
    std::vector<SavedTensor> tensors = {scalar("loss", static_cast<double>(step))};
    if (with_values) tensors.push_back(filled("w", 100, static_cast<float>(step)));
    writer_.save(step, std::move(tensors)).seal();
    return SegmentName::parse_index_key(writer_.index_key()).value();
  }
  bool finish(Uploader::Ending ending = Uploader::Ending::Ended, std::int64_t workers = 1) {
    uploader_->finish(ending, workers);
    return uploader_->wait_until_finished(Uploader::Clock::now() + 10s);
  }
  // Waits for something to become true of the progress.
  template <class Condition>
  void await(Condition&& condition) {
    while (!condition(uploader_->progress())) std::this_thread::yield();
  }
  std::ptrdiff_t count_logged(std::string_view words) const {
    return std::ranges::count_if(log_.lines(), [&](const auto& line) {
      return line.second.find(words) != std::string::npos;
    });
  }
  std::vector<std::int64_t> steps_there() const { return Trial(remote_->content()).steps(); }

  std::shared_ptr<MemoryStore> run_ = std::make_shared<MemoryStore>();
  std::shared_ptr<FakeRemote> remote_ = std::make_shared<FakeRemote>();
  WorkerWriter writer_{*run_};
  UploadOptions options_;
  std::optional<Uploader> uploader_;
  std::atomic<std::uint64_t> removed_{0};
  LogCapture log_;
};

TEST_F(UploaderTest, a_run_is_uploaded_with_two_requests_a_segment) {
  start();
  for (std::int64_t step = 0; step < 5; ++step) uploader_->add(segment(step));
  EXPECT_TRUE(finish());
  EXPECT_EQ(remote_->requests(), 2U * 5U + 2U) << "and collections, and the end";
  EXPECT_THAT(steps_there(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(Trial(remote_->content()).ended());
}

TEST_F(UploaderTest, a_segment_without_values_is_one_request) {
  start();
  uploader_->add(segment(0, false));
  EXPECT_TRUE(finish());
  EXPECT_EQ(remote_->requests(), 1U + 2U);
}

TEST_F(UploaderTest, uploaded_files_are_removed_and_reported) {
  remote_->block();
  start();
  uploader_->add(segment(0));
  const std::uint64_t bytes = uploader_->progress().bytes_waiting;
  remote_->unblock();
  EXPECT_TRUE(finish());
  EXPECT_THAT(run_->list(kIndexPrefix), IsEmpty());
  EXPECT_THAT(run_->list(kEventsPrefix), IsEmpty());
  EXPECT_EQ(removed_, bytes);
  EXPECT_EQ(uploader_->progress().bytes_uploaded, bytes);
  EXPECT_EQ(uploader_->progress().bytes_waiting, 0U);
}

TEST_F(UploaderTest, index_objects_go_in_order_though_later_values_may_be_there_first) {
  const std::string first = "events/0000-000000000/000000000000_worker_0.arrow";
  std::atomic<int> tries = 0;
  remote_->before([&](std::string_view, std::string_view key) {
    if (key == first && ++tries < 20) throw StoreError(first, true, "slow down");
  });
  start();
  for (std::int64_t step = 0; step < 8; ++step) uploader_->add(segment(step));
  EXPECT_TRUE(finish());
  EXPECT_EQ(tries, 20);
  EXPECT_THAT(remote_->puts(kIndexPrefix), SizeIs(8));
}

TEST_F(UploaderTest, values_are_uploaded_beside_each_other_as_far_as_is_allowed) {
  options_.parallelism = 3;
  start();
  remote_->block();
  for (std::int64_t step = 0; step < 8; ++step) uploader_->add(segment(step));
  remote_->await_blocked(3);
  remote_->unblock();
  EXPECT_TRUE(finish());
  EXPECT_LE(remote_->most_at_once(), 3U);
}

TEST_F(UploaderTest, one_request_at_a_time_is_enough) {
  options_.parallelism = 1;
  start();
  for (std::int64_t step = 0; step < 4; ++step) uploader_->add(segment(step));
  EXPECT_TRUE(finish());
  EXPECT_EQ(remote_->most_at_once(), 1U);
  EXPECT_THAT(steps_there(), SizeIs(4));
}

TEST_F(UploaderTest, objects_too_large_for_memory_together_go_one_after_another) {
  options_.most_bytes = 1;
  remote_->before([&](std::string_view, std::string_view key) {
    static std::atomic<int> values = 0;
    if (!key.starts_with(kEventsPrefix)) return;
    EXPECT_EQ(++values, 1);
    --values;
  });
  start();
  for (std::int64_t step = 0; step < 8; ++step) uploader_->add(segment(step));
  EXPECT_TRUE(finish());
}

TEST_F(UploaderTest, collections_are_uploaded_first_and_then_before_the_segment_that_needs_them) {
  start();
  uploader_->add(segment(0));
  await([](const UploadProgress& progress) { return progress.segments_uploaded == 1; });
  uploader_->collections_changed();
  uploader_->collections_changed();
  uploader_->add(segment(1));
  uploader_->add(segment(2));
  await([](const UploadProgress& progress) { return progress.segments_uploaded == 3; });
  uploader_->collections_changed();
  EXPECT_TRUE(finish());
  std::vector<std::string> puts = remote_->puts();
  std::erase_if(puts, [](const std::string& key) { return key.starts_with(kEventsPrefix); });
  const std::string collections = collections_key("worker_0");
  EXPECT_THAT(
      puts, ElementsAre(collections, HasSubstr("000_worker"), collections, HasSubstr("001_worker"),
                        HasSubstr("002_worker"), collections, kEndMarker));
}

TEST_F(UploaderTest, after_an_outage_everything_is_there_and_it_was_logged_once) {
  remote_->fail_all();
  start();
  for (std::int64_t step = 0; step < 5; ++step) uploader_->add(segment(step));
  await([&](const UploadProgress&) { return remote_->requests() > 30; });
  EXPECT_THAT(uploader_->progress().trouble, HasSubstr("connection refused"));
  EXPECT_TRUE(uploader_->waiting_since());
  remote_->work_again();
  EXPECT_TRUE(finish());
  EXPECT_THAT(steps_there(), SizeIs(5));
  EXPECT_EQ(uploader_->progress().trouble, "");
  EXPECT_EQ(uploader_->progress().refusal, "");
  EXPECT_EQ(count_logged("connection refused"), 1);
  EXPECT_EQ(count_logged("works again"), 1);
}

TEST_F(UploaderTest, while_requests_fail_one_request_at_a_time_is_retried) {
  remote_->fail_all();
  options_.parallelism = 8;
  start();
  for (std::int64_t step = 0; step < 8; ++step) uploader_->add(segment(step));
  await([&](const UploadProgress&) { return remote_->requests() > 20; });
  remote_->block();
  remote_->before({});
  remote_->await_blocked(1);
  EXPECT_THAT(remote_->puts(), IsEmpty());
  remote_->unblock();
  EXPECT_TRUE(finish());
}

TEST_F(UploaderTest, a_refusal_is_logged_once_and_retried) {
  std::atomic<bool> denied = true;
  remote_->before([&](std::string_view, std::string_view key) {
    if (denied) throw StoreError(std::string(key), false, "access denied");
  });
  start();
  uploader_->add(segment(0));
  await([&](const UploadProgress&) { return remote_->requests() > 10; });
  EXPECT_THAT(uploader_->progress().refusal, HasSubstr("access denied"));
  denied = false;
  EXPECT_TRUE(finish());
  EXPECT_THAT(uploader_->progress().refusal, HasSubstr("access denied")) << "for the report";
  EXPECT_EQ(count_logged("access denied"), 1);
}

TEST_F(UploaderTest, an_object_thrown_by_a_store_that_is_no_exception_is_a_failure_too) {
  std::atomic<int> calls = 0;
  remote_->before([&](std::string_view, std::string_view) {
    if (++calls == 1) throw 42;  // NOLINT(*-exception-baseclass)
  });
  start();
  EXPECT_TRUE(finish());
}

TEST_F(UploaderTest, the_last_of_several_workers_ends_the_run) {
  start();
  EXPECT_TRUE(finish(Uploader::Ending::Ended, 2));
  EXPECT_THAT(remote_->puts("ended/"), ElementsAre("ended/worker_0"));
  EXPECT_FALSE(remote_->content()->stat(kEndMarker));
  WorkerWriter other(*run_, {.worker = "worker_1", .num_workers = 2});
  Uploader second(run_, remote_, "worker_1", options_);
  second.collections_changed();
  second.finish(Uploader::Ending::Ended, 2);
  EXPECT_TRUE(second.wait_until_finished(Uploader::Clock::now() + 10s));
  EXPECT_TRUE(remote_->content()->stat(kEndMarker));
}

TEST_F(UploaderTest, workers_that_end_at_the_same_moment_do_not_both_miss_the_end) {
  for (int round = 0; round < 50; ++round) {
    const auto remote = std::make_shared<FakeRemote>();
    std::vector<std::unique_ptr<Uploader>> uploaders;
    for (int worker = 0; worker < 4; ++worker)
      uploaders.push_back(
          std::make_unique<Uploader>(run_, remote, "worker_" + std::to_string(worker), options_));
    for (const auto& uploader : uploaders) uploader->finish(Uploader::Ending::Ended, 4);
    for (const auto& uploader : uploaders)
      ASSERT_TRUE(uploader->wait_until_finished(Uploader::Clock::now() + 10s));
    ASSERT_TRUE(remote->content()->stat(kEndMarker)) << round;
  }
}

TEST_F(UploaderTest, a_run_that_has_not_ended_is_uploaded_without_an_end) {
  start();
  uploader_->add(segment(0));
  EXPECT_TRUE(finish(Uploader::Ending::Left));
  EXPECT_THAT(steps_there(), ElementsAre(0));
  EXPECT_FALSE(remote_->content()->stat(kEndMarker));
}

TEST_F(UploaderTest, files_that_a_store_does_not_take_in_time_stay) {
  start();
  remote_->block();
  uploader_->add(segment(0));
  uploader_->finish(Uploader::Ending::Ended, 1);
  EXPECT_FALSE(uploader_->wait_until_finished(Uploader::Clock::now() + 20ms));
  EXPECT_EQ(uploader_->progress().segments_waiting, 1U);
  EXPECT_THAT(run_->list(kIndexPrefix), SizeIs(1));
}

TEST_F(UploaderTest, the_destructor_leaves_a_request_that_hangs_and_no_file_is_removed_later) {
  start();
  uploader_->add(segment(0));
  uploader_->add(segment(1));
  await([](const UploadProgress& progress) { return progress.segments_waiting == 0; });
  remote_->block();
  uploader_->add(segment(2));
  remote_->await_blocked(1);
  uploader_.reset();
  remote_->unblock();
  while (remote_->puts(kEventsPrefix).size() < 3) std::this_thread::yield();
  EXPECT_THAT(run_->list(kIndexPrefix), SizeIs(1));
}

TEST_F(UploaderTest, a_segment_that_an_earlier_process_uploaded_is_not_put_again) {
  const SegmentName left = segment(0);
  remote_->content()->put(left.events_key(), *run_->get(left.events_key()));
  remote_->content()->put(left.index_key(), *run_->get(left.index_key()));
  start();
  uploader_->add(left, Uploader::Origin::LeftBehind);
  uploader_->add(segment(1), Uploader::Origin::LeftBehind);
  EXPECT_TRUE(finish());
  EXPECT_THAT(remote_->puts(kIndexPrefix), SizeIs(1));
  EXPECT_THAT(run_->list(kIndexPrefix), IsEmpty());
  EXPECT_THAT(steps_there(), ElementsAre(0, 1));
}

TEST_F(UploaderTest, an_object_of_another_process_is_not_overwritten) {
  const SegmentName left = segment(0);
  const std::string theirs = "theirs";
  remote_->content()->put(left.index_key(), std::as_bytes(std::span(theirs)));
  start();
  uploader_->add(left, Uploader::Origin::LeftBehind);
  await([](const UploadProgress& progress) { return !progress.refusal.empty(); });
  EXPECT_THAT(uploader_->progress().refusal, HasSubstr("another process has written it"));
  EXPECT_EQ(remote_->content()->stat(left.index_key())->size, theirs.size());
}

// A run of four segments whose uploader gives up when so many requests have been made.
struct InterruptedUpload {
  explicit InterruptedUpload(std::size_t requests) : left(requests) {
    for (std::int64_t step = 0; step < 4; ++step) {
      writer.save(step, {filled("w", 100, 1)}).seal();
      names.push_back(SegmentName::parse_index_key(writer.index_key()).value());
    }
    remote->before([this](std::string_view, std::string_view key) {
      std::size_t before = left;
      while (before > 0 && !left.compare_exchange_weak(before, before - 1)) {
      }
      if (before == 0) throw StoreError(std::string(key), true, "killed");
    });
  }
  // Whether it came to its end.
  bool upload(const UploadOptions& options) {
    Uploader uploader(run, remote, "worker_0", options);
    uploader.collections_changed();
    for (const SegmentName& name : names)
      if (run->stat(name.index_key())) uploader.add(name, Uploader::Origin::LeftBehind);
    uploader.finish(Uploader::Ending::Ended, 1);
    bool finished = false;
    while (!finished && uploader.progress().trouble.empty())
      finished = uploader.wait_until_finished(Uploader::Clock::now() + 1ms);
    return finished;
  }
  std::shared_ptr<MemoryStore> run = std::make_shared<MemoryStore>();
  std::shared_ptr<FakeRemote> remote = std::make_shared<FakeRemote>();
  WorkerWriter writer{*run};
  std::vector<SegmentName> names;
  std::atomic<std::size_t> left;
};

TEST_F(UploaderTest, stopped_behind_any_request_and_begun_again_it_leaves_the_same_store) {
  bool finished = false;
  for (std::size_t requests = 0; !finished; ++requests) {
    InterruptedUpload interrupted(requests);
    finished = interrupted.upload(options_);
    interrupted.remote->before({});
    ASSERT_TRUE(finished || interrupted.upload(options_)) << requests;
    ASSERT_THAT(interrupted.remote->offences(), IsEmpty()) << requests;
    const Trial trial(interrupted.remote->content());
    ASSERT_THAT(trial.steps(), SizeIs(4)) << requests;
    ASSERT_TRUE(trial.ended());
    ASSERT_THAT(interrupted.run->list(kIndexPrefix), IsEmpty());
    ASSERT_LT(requests, 100U);
  }
}

}  // namespace
}  // namespace cupel::testing
