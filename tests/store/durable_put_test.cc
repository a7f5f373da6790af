// What a durable put makes durable: the file, and its name in each directory up to the root. The
// name of the root itself is made durable by the call that makes the directory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cupel/store/local_store.h"
#include "store/scratch_directory.h"

namespace {

std::atomic<bool> records_flushes{false};
std::mutex flushed_mutex;
std::vector<std::string> flushed;  // guarded by flushed_mutex

void record(int file) {
  if (!records_flushes) return;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  const std::lock_guard lock(flushed_mutex);
  flushed.emplace_back(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

}  // namespace

// In place of the system's, in the whole program.
extern "C" int fsync(int file) {
  record(file);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace cupel {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class DurablePut : public ::testing::Test {
 protected:
  DurablePut() {
    const std::lock_guard lock(flushed_mutex);
    flushed.clear();
  }
  ~DurablePut() override { records_flushes = false; }

  // Returns the directories that a put into directories of earlier writes flushes.
  std::vector<std::string> flushed_by_put(Durability durability) {
    const std::array<std::byte, 3> bytes{};
    const std::span<const std::byte> piece(bytes);
    // Nothing makes the names of these directories durable.
    store_.append("a/b/grows", 0, std::span(&piece, 1));
    {
      const std::lock_guard lock(flushed_mutex);
      flushed.clear();
    }
    records_flushes = true;
    store_.put("a/b/object", bytes, durability);
    records_flushes = false;
    const std::lock_guard lock(flushed_mutex);
    return flushed;
  }

  const testing::ScratchDirectory scratch_;
  LocalStore store_{scratch_.path()};
};

TEST_F(DurablePut, flushes_each_directory_from_the_root_to_the_object) {
  const std::string root = scratch_.path();
  EXPECT_THAT(flushed_by_put(Durability::Durable),
              IsSupersetOf({root, root + "/a", root + "/a/b"}));
}

TEST_F(DurablePut, has_a_root_whose_name_is_durable_since_it_was_locked) {
  records_flushes = true;
  const auto lock = DirectoryLock::try_acquire(scratch_.path() + "/runs/a", "worker_0.lock");
  records_flushes = false;
  ASSERT_NE(lock, nullptr);
  const std::lock_guard guard(flushed_mutex);
  EXPECT_THAT(flushed, IsSupersetOf({scratch_.path(), scratch_.path() + "/runs"}));
}

TEST_F(DurablePut, has_a_root_whose_name_is_durable_since_it_is_held) {
  records_flushes = true;
  LocalStore(scratch_.path() + "/runs/a").hold_directory();
  records_flushes = false;
  const std::lock_guard guard(flushed_mutex);
  EXPECT_THAT(flushed, IsSupersetOf({scratch_.path(), scratch_.path() + "/runs"}));
}

TEST_F(DurablePut, has_a_root_below_the_working_directory) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.path());
  records_flushes = true;
  const auto lock = DirectoryLock::try_acquire("runs/a", "worker_0.lock");
  records_flushes = false;
  std::filesystem::current_path(before);
  ASSERT_NE(lock, nullptr);
  const std::lock_guard guard(flushed_mutex);
  EXPECT_THAT(flushed, IsSupersetOf({scratch_.path(), scratch_.path() + "/runs"}));
}

TEST_F(DurablePut, a_cached_put_flushes_nothing) {
  EXPECT_THAT(flushed_by_put(Durability::Cached), IsEmpty());
}

}  // namespace
}  // namespace cupel
