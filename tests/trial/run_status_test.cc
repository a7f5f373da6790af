#include "cupel/trial/run_status.h"
#include "cupel/trial/run_follower.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/trial.h"
#include "store/scratch_directory.h"
#include "trial/run_builder.h"

namespace cupel::testing {
namespace {

/// A run in a directory, whose steps were saved in 2023.
class RunStatusTest : public ::testing::Test {
 protected:
  Trial open() const { return Trial(std::make_shared<LocalStore>(scratch_.path())); }
  std::unique_ptr<DirectoryLock> lock(std::string_view worker = "worker_0") const {
    return DirectoryLock::try_acquire(scratch_.path(), lock_name(worker));
  }

  ScratchDirectory scratch_;
  LocalStore store_{scratch_.path()};
};

TEST_F(RunStatusTest, a_run_whose_lock_is_held_is_running_however_old_its_newest_step_is) {
  WorkerWriter(store_).save_steps({0});
  const auto held = lock();
  EXPECT_EQ(RunFollower(open()).status(), RunStatus::Running);
}

TEST_F(RunStatusTest, a_run_whose_lock_is_free_is_interrupted_at_once) {
  WorkerWriter writer(store_);
  auto held = lock();
  const Trial trial = open();
  EXPECT_EQ(RunFollower(trial).status(), RunStatus::Running);
  held.reset();
  EXPECT_EQ(RunFollower(trial).status(), RunStatus::Interrupted);
  held = lock();
  EXPECT_EQ(RunFollower(trial).status(), RunStatus::Running);
}

TEST_F(RunStatusTest, a_run_that_ends_is_never_seen_as_interrupted) {
  WorkerWriter writer(store_);
  auto held = lock();
  const Trial trial = open();
  writer.save_steps({0}).finish();
  held.reset();
  EXPECT_EQ(RunFollower(trial).status(), RunStatus::Ended)
      << "though the trial has not looked for news";
}

TEST_F(RunStatusTest, a_run_of_several_workers_is_interrupted_when_all_locks_are_free) {
  WorkerWriter(store_, {"worker_0", 2}).save_steps({0});
  WorkerWriter(store_, {"worker_1", 2}).save_steps({0});
  auto first = lock("worker_0"), second = lock("worker_1");
  first.reset();
  EXPECT_EQ(RunFollower(open()).status(), RunStatus::Running);
  second.reset();
  EXPECT_EQ(RunFollower(open()).status(), RunStatus::Interrupted);
  scratch_.add_to_file(".lock-worker_1", "of another host");
  EXPECT_EQ(RunFollower(open()).status(), RunStatus::Silent);
}

TEST_F(RunStatusTest, a_run_without_locks_is_silent_a_minute_after_its_newest_step) {
  WorkerWriter writer(store_);
  EXPECT_EQ(RunFollower(open()).status(), RunStatus::Running)
      << "nothing has come that could be old";
  writer.save_steps({0});
  EXPECT_EQ(RunFollower(open()).status(), RunStatus::Silent);
}

TEST_F(RunStatusTest, a_follower_of_a_pinned_view_gives_the_status_of_now) {
  WorkerWriter writer(store_);
  auto held = lock();
  Trial trial = open();
  const NoRefresh pin(trial);
  held.reset();
  EXPECT_EQ(RunFollower(trial).status(), RunStatus::Interrupted);
}

}  // namespace
}  // namespace cupel::testing
