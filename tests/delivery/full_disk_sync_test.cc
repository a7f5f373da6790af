// A disk that reports that it is full when bytes that it took are to be made durable.

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>

#include "spool_fixture.h"

namespace {

// Of index files, not of the temporary ones that replace them.
std::atomic<bool> flushing_indexes_fails{false};

bool is_index(int file) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  const std::string_view name(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return name.find("/index/") != std::string_view::npos && name.ends_with(".arrow");
}

}  // namespace

// In place of the system's, in the whole program.
extern "C" int fdatasync(int file) {
  if (flushing_indexes_fails && is_index(file)) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SpoolTest, steps_in_the_index_are_not_reported_as_lost) {
  options.sync = Sync::Step;
  options.commit_timeout = std::chrono::hours(1);
  auto hook = make_hook();
  train(*hook, 3);
  flushing_indexes_fails = true;
  hook->next_step();
  EXPECT_EQ(hook->committed_step(), 2);
  flushing_indexes_fails = false;
  train(*hook, 2);
  const HookReport report = hook->close();
  EXPECT_EQ(report.steps_dropped, 0);
  EXPECT_EQ(report.steps_committed, 5);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_THAT(open_trial()->steps(), ElementsAre(0, 1, 2, 4, 5));
}

}  // namespace
}  // namespace cupel
