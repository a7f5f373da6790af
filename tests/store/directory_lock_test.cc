#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "store/scratch_directory.h"

namespace cupel {
namespace {

using testing::ScratchDirectory;

class DirectoryLockTest : public ::testing::Test {
 protected:
  std::unique_ptr<DirectoryLock> acquire(std::string_view name = "worker_0.lock") const {
    return DirectoryLock::try_acquire((scratch_ / "a/b").string(), name);
  }
  LockState state(std::string_view name = "worker_0.lock") const {
    return DirectoryLock::state((scratch_ / "a/b").string(), name);
  }
  ScratchDirectory scratch_;
};

/// Runs `body` in a child process; answers whether it returned true.
template <class Body>
bool in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A pipe between processes: one says a word, the other hears it, or that nobody is left to say it.
class Line {
 public:
  Line() { ready_ = pipe(ends_) == 0; }
  ~Line() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  bool say(char word) const { return ready_ && write(ends_[1], &word, 1) == 1; }
  char hear() const {
    char word = 0;
    return ready_ && read(ends_[0], &word, 1) == 1 ? word : '\0';
  }

 private:
  int ends_[2];
  bool ready_;
};

TEST_F(DirectoryLockTest, is_held_once_within_a_process) {
  const auto first = acquire();
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(acquire(), nullptr);
  EXPECT_NE(acquire("worker_1.lock"), nullptr);
}

TEST_F(DirectoryLockTest, is_free_again_when_it_is_given_up) {
  for (int i = 0; i < 3; ++i) EXPECT_NE(acquire(), nullptr);
}

TEST_F(DirectoryLockTest, is_refused_while_another_process_holds_it) {
  const Line held;
  const Line tried;
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = acquire();
    held.say(lock ? 'y' : 'n');
    tried.hear();
    _exit(0);
  }
  EXPECT_EQ(held.hear(), 'y');
  EXPECT_EQ(acquire(), nullptr);
  EXPECT_EQ(acquire(), nullptr);
  tried.say('y');
  EXPECT_EQ(waitpid(holder, nullptr, 0), holder);
  EXPECT_NE(acquire(), nullptr);
}

TEST_F(DirectoryLockTest, a_refused_attempt_does_not_give_up_the_lock) {
  const auto lock = acquire();
  EXPECT_EQ(acquire(), nullptr);
  EXPECT_TRUE(in_child([&] {  // asks the kernel, which alone knows of other processes
    struct flock query = {};
    query.l_type = F_WRLCK;
    const int file = open((scratch_ / "a/b/worker_0.lock").c_str(), O_RDWR);
    return fcntl(file, F_GETLK, &query) == 0 && query.l_type == F_WRLCK;
  }));
}

TEST_F(DirectoryLockTest, dies_with_its_process_though_a_child_of_that_lives_on) {
  const Line held;
  const Line over;
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = acquire();
    if (fork() == 0) {  // keeps every descriptor until the test lets it go
      held.say(lock ? 'y' : 'n');
      over.hear();
      _exit(0);
    }
    for (;;) pause();
  }
  EXPECT_EQ(held.hear(), 'y');
  EXPECT_EQ(acquire(), nullptr);
  kill(holder, SIGKILL);
  EXPECT_EQ(waitpid(holder, nullptr, 0), holder);
  EXPECT_NE(acquire(), nullptr);
  over.say('y');
}

TEST_F(DirectoryLockTest, a_child_that_ends_does_not_give_up_its_parents_lock) {
  auto lock = acquire();
  EXPECT_TRUE(in_child([&] {
    lock.reset();
    return true;
  }));
  EXPECT_EQ(acquire(), nullptr);
  EXPECT_TRUE(in_child([&] { return lock && (lock.reset(), acquire()) == nullptr; }));
}

TEST_F(DirectoryLockTest, a_removed_file_does_not_keep_its_successor_from_being_locked) {
  auto lock = acquire();
  lock->remove_file();
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "a/b/worker_0.lock"));
  const auto next = acquire();
  EXPECT_NE(next, nullptr);
  lock.reset();
  EXPECT_EQ(acquire(), nullptr);
}

TEST_F(DirectoryLockTest, its_state_is_seen_without_taking_it) {
  EXPECT_EQ(state(), LockState::Unseen) << "there is no such file";
  auto lock = acquire();
  EXPECT_EQ(state(), LockState::Held);
  EXPECT_TRUE(in_child([&] { return acquire() == nullptr; })) << "asking has not given it up";
  lock.reset();
  EXPECT_EQ(state(), LockState::Free);
  EXPECT_EQ(LocalStore((scratch_ / "a/b").string()).lock_state("worker_0.lock"), LockState::Free);
  EXPECT_NE(acquire(), nullptr);
}

TEST_F(DirectoryLockTest, is_seen_to_be_free_as_soon_as_its_process_is_killed) {
  const Line held;
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = acquire();
    held.say(lock ? 'y' : 'n');
    for (;;) pause();
  }
  EXPECT_EQ(held.hear(), 'y');
  EXPECT_EQ(state(), LockState::Held);
  kill(holder, SIGKILL);
  EXPECT_EQ(waitpid(holder, nullptr, 0), holder);
  EXPECT_EQ(state(), LockState::Free);
}

TEST_F(DirectoryLockTest, is_taken_at_the_first_attempt_while_others_ask_for_its_state) {
  acquire();
  const Line asked;
  const pid_t asker = fork();
  if (asker == 0) {
    state();
    asked.say('y');
    for (;;) state();
  }
  EXPECT_EQ(asked.hear(), 'y');
  for (int i = 0; i < 2000; ++i) ASSERT_NE(acquire(), nullptr) << i;
  kill(asker, SIGKILL);
  EXPECT_EQ(waitpid(asker, nullptr, 0), asker);
}

TEST_F(DirectoryLockTest, tells_nothing_while_it_is_free_if_another_host_locked_it_last) {
  scratch_.add_to_file("a/b/worker_0.lock", "");
  EXPECT_EQ(state(), LockState::Unseen) << "nobody has locked it yet";
  acquire();
  EXPECT_EQ(state(), LockState::Free);
  scratch_.add_to_file("a/b/worker_0.lock", "x");
  EXPECT_EQ(state(), LockState::Unseen);
  const auto lock = acquire();
  EXPECT_EQ(state(), LockState::Held);
}

TEST_F(DirectoryLockTest, a_file_that_cannot_be_made_is_an_error) {
  scratch_.add_to_file("a/b", "a file");
  EXPECT_THROW(acquire(), StoreError);
  EXPECT_THROW(acquire("x/y"), UsageError);
  EXPECT_THROW(acquire(""), UsageError);
}

}  // namespace
}  // namespace cupel
