// Events of a writer, without a hook: what a delivery does with each of them.

#include "cupel/delivery/run_delivery.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cupel/delivery/end_of_run.h"
#include "spool_fixture.h"
#include "trial/run_builder.h"

namespace {

std::atomic<bool> fails_statvfs{false};
std::atomic<int> failures_of_statx{0};  // of files of segments, to come

}  // namespace

// In place of the system's, in the whole program: a disk that cannot be examined.
extern "C" int statvfs(const char* path, struct statvfs* facts) noexcept {
  static const auto real =
      reinterpret_cast<int (*)(const char*, struct statvfs*)>(::dlsym(RTLD_NEXT, "statvfs"));
  if (!fails_statvfs) return real(path, facts);
  errno = EIO;
  return -1;
}

extern "C" int statx(int directory, const char* name, int flags, unsigned mask,
                     struct statx* facts) noexcept {
  static const auto real =
      reinterpret_cast<int (*)(int, const char*, int, unsigned, struct statx*)>(
          ::dlsym(RTLD_NEXT, "statx"));
  if (failures_of_statx == 0 || !std::string_view(name).ends_with(".arrow"))
    return real(directory, name, flags, mask, facts);
  --failures_of_statx;
  errno = EIO;
  return -1;
}

namespace cupel {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::filled;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::WorkerWriter;

constexpr std::uint64_t kMiB = 1U << 20U;

// A writer that saves steps of one segment each and reports them.
class RunDeliveryTest : public SpoolTest {
 protected:
  ~RunDeliveryTest() override {
    fails_statvfs = false;
    failures_of_statx = 0;
  }
  void start(std::uint64_t spool_bytes = 16 * kMiB, std::int64_t num_workers = 1) {
    RunDeliveryOptions how;
    how.spool_bytes = spool_bytes;
    how.disk_reserve = 0;
    how.upload.first_pause = 1ms;
    const Spool::Destination destination{remote_->location(), "worker_0"};
    delivery_.emplace(remote_, Spool(spool_directory(), destination), how);
    delivery_->begin();
    writer_.emplace(delivery_->run(), testing::WorkerSpec{.num_workers = num_workers});
    delivery_->collections_changed();
  }
  SegmentName save(std::int64_t step) {
    const SegmentName name{0, step, "worker_0"};
    delivery_->opened(name);
    writer_->save(step, {filled("w", 100, static_cast<float>(step))});
    return name;
  }
  SegmentName save_and_seal(std::int64_t step) {
    SegmentName name = save(step);
    writer_->seal();
    delivery_->sealed(name, {.sealed = 1});
    return name;
  }
  void end() {
    write_end(delivery_->run(), "worker_0", 1);
    delivery_->ended();
  }
  NotUploaded deliver(std::chrono::milliseconds time = 10s) {
    return delivery_->deliver(RunDelivery::Clock::now() + time);
  }
  std::vector<std::int64_t> steps_there() const { return open_trial()->steps(); }

  std::optional<RunDelivery> delivery_;
  std::optional<WorkerWriter> writer_;
};

TEST_F(RunDeliveryTest, uploads_a_segment_when_it_is_sealed_and_the_end_last) {
  start();
  save_and_seal(0);
  save_and_seal(1);
  end();
  EXPECT_EQ(deliver().directory, "");
  EXPECT_THAT(steps_there(), ElementsAre(0, 1));
  EXPECT_EQ(remote_->puts().back(), kEndMarker);
  EXPECT_FALSE(has_spool());
}

TEST_F(RunDeliveryTest, uploads_a_segment_once_that_is_reported_sealed_twice) {
  start();
  remote_->block();
  const SegmentName name = save_and_seal(0);
  delivery_->sealed(name, {});
  remote_->unblock();
  EXPECT_EQ(deliver().bytes, 0U);
  EXPECT_EQ(delivery_->progress().segments_uploaded, 1U);
}

TEST_F(RunDeliveryTest, keeps_the_end_back_while_a_segment_is_open) {
  start();
  save_and_seal(0);
  save(1);
  end();
  const NotUploaded left = deliver();
  EXPECT_EQ(left.steps, 1);
  EXPECT_TRUE(left.end);
  EXPECT_THAT(steps_there(), ElementsAre(0));
  EXPECT_FALSE(open_trial()->ended());
}

TEST_F(RunDeliveryTest, keeps_a_segment_back_that_could_not_be_sealed_and_the_end) {
  start();
  save_and_seal(0);
  const SegmentName name = save(1);
  SealReport damage;
  damage.damaged.push_back(name.index_key() + ": a flipped bit");
  delivery_->sealed(name, damage);
  writer_->abandon();
  save_and_seal(2);
  end();
  EXPECT_TRUE(deliver().end);
  EXPECT_THAT(delivery_->problems(), ElementsAre(HasSubstr("a flipped bit")));
  EXPECT_THAT(steps_there(), ElementsAre(0, 2));
  EXPECT_FALSE(open_trial()->ended());
}

TEST_F(RunDeliveryTest, leaves_the_end_out_where_the_worker_has_not_ended) {
  start();
  save_and_seal(0);
  EXPECT_FALSE(deliver().end);
  EXPECT_THAT(steps_there(), ElementsAre(0));
  EXPECT_FALSE(open_trial()->ended());
}

TEST_F(RunDeliveryTest, a_write_waits_until_uploads_have_made_room) {
  start(kMiB);
  remote_->block();
  save_and_seal(0);
  std::atomic<bool> is_written = false;
  std::jthread writing([&] { delivery_->room_for(kMiB, [&] { is_written = true; }); });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(is_written);
  remote_->unblock();
  writing.join();
  EXPECT_TRUE(is_written);
}

TEST_F(RunDeliveryTest, a_write_does_not_wait_where_nothing_can_make_room) {
  start(kMiB);
  const SegmentName name{0, 0, "worker_0"};
  const std::vector<std::byte> bytes(2 * kMiB);
  const std::span<const std::byte> piece(bytes);
  delivery_->opened(name);
  const auto room = delivery_->room_for(
      bytes.size(), [&] { delivery_->run().append(name.events_key(), 0, std::span(&piece, 1)); });
  EXPECT_EQ(room, SegmentEvents::Room::Short);
  EXPECT_TRUE(delivery_->has_room()) << "a step would not have to wait either";
}

TEST_F(RunDeliveryTest, a_write_that_finds_the_disk_full_is_repeated_after_each_upload) {
  start();
  remote_->block();
  save_and_seal(0);
  save_and_seal(1);
  std::atomic<int> writes = 0;
  std::jthread writing([&] {
    EXPECT_THROW(delivery_->room_for(1,
                                     [&] {
                                       ++writes;
                                       throw StoreFull("key", "write");
                                     }),
                 StoreFull);
  });
  while (writes == 0) std::this_thread::yield();
  remote_->unblock();
  writing.join();
  EXPECT_GE(writes, 2);
}

TEST_F(RunDeliveryTest, a_write_waits_no_longer_than_it_may) {
  start(kMiB);
  remote_->block();
  save_and_seal(0);
  delivery_->stop_waiting_at(RunDelivery::Clock::now());
  bool is_written = false;
  delivery_->room_for(kMiB, [&] { is_written = true; });
  EXPECT_TRUE(is_written);
  remote_->unblock();
}

TEST_F(RunDeliveryTest, bytes_of_a_step_that_was_given_up_do_not_count) {
  start(kMiB);
  remote_->block();
  save_and_seal(0);
  delivery_->opened({0, 1, "worker_0"});
  // Values that are written and, with their segment, removed.
  delivery_->room_for(kMiB / 2, [] {});
  EXPECT_EQ(delivery_->room_for(kMiB / 2, [] {}), SegmentEvents::Room::Enough);
  EXPECT_TRUE(delivery_->has_room());
  remote_->unblock();
}

TEST_F(RunDeliveryTest, before_it_begins_the_run_is_what_spool_and_store_hold_together) {
  const auto bytes_of = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const Spool::Destination destination{remote_->location(), "worker_0"};
  { LocalStore(Spool(spool_directory(), destination).directory()).put("a", bytes_of("spool")); }
  remote_->content()->put("a", bytes_of("remote"));
  remote_->content()->put("b", bytes_of("remote"));
  RunDelivery delivery(remote_, Spool(spool_directory(), destination), {});
  Store& run = delivery.run_at_start();
  EXPECT_EQ(run.stat("a")->size, 5U);
  EXPECT_EQ(run.get("b")->size(), 6U);
  std::vector<std::string> keys;
  for (const ObjectInfo& info : run.list("")) keys.push_back(info.key);
  EXPECT_THAT(keys, IsSupersetOf({"a", "b", "spool.json"}));
  run.remove("a");
  EXPECT_FALSE(run.stat("a")) << "neither here nor there";
  EXPECT_FALSE(remote_->content()->stat("a"));
}

TEST_F(RunDeliveryTest, of_several_workers_the_last_one_ends_the_run_in_the_remote_store) {
  start(16 * kMiB, 2);
  save_and_seal(0);
  write_end(delivery_->run(), "worker_0", 2);
  delivery_->ended();
  EXPECT_FALSE(deliver().end);
  EXPECT_THAT(remote_->puts(kEndedPrefix), ElementsAre("ended/worker_0"));
  EXPECT_FALSE(store->stat(kEndMarker));
  write_end(*remote_, "worker_1", 2);
  EXPECT_TRUE(store->stat(kEndMarker));
}

TEST_F(RunDeliveryTest, a_segment_that_is_sealed_after_the_delivery_stays_in_the_spool) {
  start();
  save_and_seal(0);
  const SegmentName name = save(1);
  end();
  EXPECT_EQ(deliver().steps, 1);
  writer_->seal();
  delivery_->sealed(name, {.sealed = 1});
  delivery_->collections_changed();
  EXPECT_THAT(steps_there(), ElementsAre(0));
  EXPECT_FALSE(delivery_->waiting_since());
  delivery_.reset();
  EXPECT_TRUE(SpoolTest::deliver().ok());
  EXPECT_THAT(steps_there(), ElementsAre(0, 1));
  EXPECT_TRUE(open_trial()->ended());
}

TEST_F(RunDeliveryTest, an_end_that_is_taken_back_is_not_uploaded) {
  start();
  save_and_seal(0);
  end();
  remove_end(delivery_->run(), "worker_0", 1);
  EXPECT_FALSE(deliver().end);
  EXPECT_THAT(steps_there(), ElementsAre(0));
  EXPECT_FALSE(open_trial()->ended());
  EXPECT_FALSE(delivery_->has_ended());
}

TEST_F(RunDeliveryTest, threads_may_ask_for_the_progress_while_the_delivery_ends) {
  start();
  remote_->block();
  save_and_seal(0);
  std::atomic<bool> is_delivered = false;
  std::jthread asking([&] {
    while (!is_delivered) {
      delivery_->waiting_since();
      EXPECT_LE(delivery_->progress().segments_waiting, 1U);
    }
    delivery_->halt();
  });
  EXPECT_EQ(deliver(20ms).steps, 1);
  is_delivered = true;
  asking.join();
  EXPECT_EQ(delivery_->progress().segments_waiting, 1U);
  remote_->unblock();
}

TEST_F(RunDeliveryTest, uploads_go_on_where_the_disk_cannot_be_examined) {
  start();
  remote_->block();
  save_and_seal(0);
  save_and_seal(1);
  fails_statvfs = true;
  remote_->unblock();
  EXPECT_EQ(deliver().directory, "");
  EXPECT_THAT(steps_there(), ElementsAre(0, 1));
}

TEST_F(RunDeliveryTest, a_write_is_done_where_the_disk_cannot_be_examined_behind_it) {
  start();
  EXPECT_EQ(delivery_->room_for(1, [] { fails_statvfs = true; }), SegmentEvents::Room::Enough);
  EXPECT_TRUE(delivery_->has_room());
}

TEST_F(RunDeliveryTest, a_segment_that_cannot_be_examined_keeps_the_end_back) {
  start();
  save_and_seal(0);
  const SegmentName name = save(1);
  end();
  delivery_->run().remove(name.index_key());
  delivery_->run().remove(name.events_key());
  failures_of_statx = 1;
  EXPECT_TRUE(deliver().end);
  EXPECT_EQ(failures_of_statx, 0);
  EXPECT_FALSE(open_trial()->ended());
}

}  // namespace
}  // namespace cupel
