#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "store/scratch_directory.h"
#include "store/store_contract.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using testing::ScratchDirectory;
using namespace std::chrono_literals;

/// A run directory that does not exist at first, and a watch on a prefix of it.
class Watching {
 public:
  explicit Watching(WatchMethod method, std::string_view prefix = {})
      : store_((scratch_ / "above/run").string(), method), watch_(store_.watch(prefix)) {}

  void put(std::string_view key) { store_.put(key, bytes_of("x"), Durability::Cached); }
  void watch_anew(std::string_view prefix = {}) { watch_ = store_.watch(prefix); }
  fs::path path() const { return scratch_ / "above/run"; }
  fs::path path(std::string_view name) const { return path() / name; }
  const ScratchDirectory& scratch() const { return scratch_; }

  /// Whether a change is reported; whatever else there is to report is taken too.
  bool reports() {
    const bool reported = watch_->wait(20s);
    settle();
    return reported;
  }
  void settle() {
    while (watch_->changed()) {
    }
  }
  bool is_quiet() { return !watch_->changed(); }
  Watch& watch() { return *watch_; }

 private:
  ScratchDirectory scratch_;
  LocalStore store_;
  std::unique_ptr<Watch> watch_;
};

class LocalWatch : public ::testing::TestWithParam<WatchMethod> {
 protected:
  Watching run_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Methods, LocalWatch,
                         ::testing::Values(WatchMethod::Notify, WatchMethod::Poll),
                         [](const auto& row) {
                           return row.param == WatchMethod::Notify ? "notify" : "poll";
                         });

TEST_P(LocalWatch, a_root_that_appears_is_reported) {
  EXPECT_TRUE(run_.is_quiet());
  run_.put("a");
  EXPECT_TRUE(run_.reports());
  run_.put("b");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, a_root_that_appears_step_by_step_is_reported) {
  fs::create_directory(run_.scratch() / "above");
  run_.settle();
  fs::create_directory(run_.path());
  run_.settle();
  run_.put("a");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, a_root_that_is_moved_into_place_is_reported) {
  run_.scratch().add_to_file("elsewhere/a/b", "x");
  fs::create_directory(run_.scratch() / "above");
  run_.settle();
  fs::rename(run_.scratch() / "elsewhere", run_.path());
  EXPECT_TRUE(run_.reports());
  run_.scratch().add_to_file("above/run/a/b", "y");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, a_deleted_root_is_reported_and_its_successor_watched) {
  for (int i = 0; i < 3; ++i) {
    run_.put("a/b");
    EXPECT_TRUE(run_.reports());
    fs::remove_all(run_.path());
    EXPECT_TRUE(run_.reports());
  }
}

TEST_P(LocalWatch, a_root_that_is_moved_away_is_reported_and_its_successor_watched) {
  run_.put("a/b");
  EXPECT_TRUE(run_.reports());
  fs::rename(run_.scratch() / "above", run_.scratch() / "old");
  EXPECT_TRUE(run_.reports());
  run_.put("a/b");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, directories_made_later_are_watched) {
  run_.put("a");
  EXPECT_TRUE(run_.reports());
  run_.put("b/c/d/e");
  EXPECT_TRUE(run_.reports());
  run_.scratch().add_to_file("above/run/b/c/d/e", "more");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, directories_moved_in_and_out_are_watched) {
  run_.put("a/b");
  run_.scratch().add_to_file("elsewhere/c", "x");
  EXPECT_TRUE(run_.reports());
  fs::rename(run_.scratch() / "elsewhere", run_.path("d"));
  EXPECT_TRUE(run_.reports());
  run_.scratch().add_to_file("above/run/d/c", "y");
  EXPECT_TRUE(run_.reports());
  fs::rename(run_.path("d"), run_.scratch() / "elsewhere");
  EXPECT_TRUE(run_.reports());
  run_.scratch().add_to_file("elsewhere/c", "z");
  EXPECT_TRUE(run_.is_quiet());
}

TEST_P(LocalWatch, a_file_that_is_cut_is_reported) {
  run_.scratch().add_to_file("above/run/a", "12345");
  run_.settle();
  fs::resize_file(run_.path("a"), 2);
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, a_name_prefix_is_respected) {
  run_.put("index/0000-1/a");
  run_.put("index/0001-1/a");
  run_.watch_anew("index/0001");
  run_.put("index/0000-1/b");
  run_.put("index/0000-2/a");
  run_.put("events/a");
  EXPECT_TRUE(run_.is_quiet());
  run_.put("index/0001-1/b");
  EXPECT_TRUE(run_.reports());
  run_.put("index/0001-2/a");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, the_directory_of_the_prefix_may_come_later) {
  run_.put("a");
  run_.watch_anew("index/b/");
  run_.put("index/b/c");
  EXPECT_TRUE(run_.reports());
  fs::remove_all(run_.path("index"));
  EXPECT_TRUE(run_.reports());
  run_.put("index/b/c");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, temporary_files_are_not_reported) {
  run_.put("a");
  run_.watch_anew();
  run_.scratch().add_to_file("above/run/a.1.tmp", "half");
  fs::remove(run_.path("a.1.tmp"));
  EXPECT_TRUE(run_.is_quiet());
  run_.scratch().add_to_file("above/run/b.1.tmp", "all");
  fs::rename(run_.path("b.1.tmp"), run_.path("b"));
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, a_file_in_the_place_of_the_root_is_no_obstacle) {
  run_.scratch().add_to_file("above/run", "a file");
  run_.settle();
  fs::remove(run_.path());
  run_.put("a");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, a_root_behind_a_link_is_watched) {
  fs::create_directories(run_.scratch() / "real");
  fs::create_directory_symlink(run_.scratch() / "real", run_.scratch() / "above");
  run_.settle();
  run_.put("a/b");
  EXPECT_TRUE(run_.reports());
  run_.put("a/c");
  EXPECT_TRUE(run_.reports());
}

TEST_P(LocalWatch, linked_directories_are_not_watched) {
  run_.put("a");
  run_.scratch().add_to_file("elsewhere/b", "x");
  fs::create_directory_symlink(run_.scratch() / "elsewhere", run_.path("linked"));
  run_.watch_anew();
  run_.scratch().add_to_file("elsewhere/b", "y");
  EXPECT_TRUE(run_.is_quiet());
}

TEST_P(LocalWatch, a_prefix_that_is_a_link_below_the_root_is_not_followed) {
  run_.put("a");
  run_.scratch().add_to_file("elsewhere/b", "x");
  fs::create_directory_symlink(run_.scratch() / "elsewhere", run_.path("linked"));
  run_.watch_anew("linked/");
  run_.scratch().add_to_file("elsewhere/b", "y");
  EXPECT_TRUE(run_.is_quiet());
}

TEST_P(LocalWatch, roots_below_one_another_are_watched_apart) {
  run_.put("a");
  LocalStore inner(run_.path("inner").string(), GetParam());
  const auto inner_watch = inner.watch();
  run_.settle();
  inner.put("b", bytes_of("x"));
  EXPECT_TRUE(inner_watch->wait(20s));
  EXPECT_TRUE(run_.reports());
}

/// Whether this process listens to the kernel; a watch that only looks would pass the other tests
/// too.
bool is_notified() {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // the iterator's own descriptor is listed too
    if (fs::read_symlink(entry.path(), closed).string().find("inotify") != std::string::npos)
      return true;
  }
  return false;
}

TEST(LocalWatchNotify, the_kernel_is_listened_to_whatever_becomes_of_the_root) {
  Watching run(WatchMethod::Notify);
  EXPECT_TRUE(is_notified());
  fs::create_directory(run.scratch() / "real");
  fs::create_directory_symlink(run.scratch() / "real", run.scratch() / "above");
  run.put("a/b");
  EXPECT_TRUE(run.reports() && is_notified());
  fs::remove_all(run.path());
  EXPECT_TRUE(run.reports() && is_notified());
  run.put("a/b");
  EXPECT_TRUE(run.reports() && is_notified());
}

TEST(LocalWatchNotify, polling_leaves_the_kernel_alone) {
  const Watching run(WatchMethod::Poll);
  EXPECT_FALSE(is_notified());
}

TEST(LocalWatchNotify, more_events_than_the_kernel_keeps_are_a_change) {
  // Where the queue is longer than this, or unknown, so many events are a change all the same.
  constexpr std::size_t kMostEvents = 1'000'000;
  std::size_t limit = kMostEvents;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
  limit = std::clamp<std::size_t>(limit, 1, kMostEvents);
  Watching run(WatchMethod::Notify);
  run.put("a");
  run.put("b");
  run.settle();
  std::ofstream a(run.path("a"));
  std::ofstream b(run.path("b"));
  for (std::size_t i = 0; i < limit; ++i) a << 'x' << std::flush, b << 'x' << std::flush;
  run.put("made/beyond/the/limit");
  EXPECT_TRUE(run.reports());
  run.scratch().add_to_file("above/run/made/beyond/the/limit", "more");
  EXPECT_TRUE(run.reports());
}

TEST(LocalWatchNotify, without_notifications_it_looks_for_itself) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  // One more descriptor can be had: the one that wakes, and none for the kernel's notifications.
  const rlimit scarce = {static_cast<rlim_t>(next) + 1, before.rlim_max};
  ScratchDirectory scratch;
  LocalStore store(scratch.path());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &scarce), 0);
  std::unique_ptr<Watch> watch;
  EXPECT_NO_THROW(watch = store.watch());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  store.put("a", bytes_of("x"));
  EXPECT_TRUE(watch->wait(20s));
  EXPECT_FALSE(watch->changed());
}

TEST(LocalWatchNotify, no_descriptor_at_all_is_an_error) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const LocalStore store("nowhere");
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(static_cast<void>(store.watch()), StoreError);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace cupel
