// A runner over a run whose writer is killed: the lock of the writer is free, and the run has not
// ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

class UntilWriterGone : public ::testing::Test {
 protected:
  void hold() { lock_ = DirectoryLock::try_acquire(scratch_.path(), lock_name("worker_0")); }
  void give_up() { lock_.reset(); }
  RunnerOptions options() {
    return {.on_status =
                [this](RunStatus status) {
                  statuses_.push_back(status);
                  if (on_status_) on_status_(status);
                },
            .tick_interval = std::chrono::milliseconds(1)};
  }

  ScratchDirectory scratch_;
  LocalStore store_{scratch_.path()};
  WorkerWriter writer_{store_};
  std::unique_ptr<DirectoryLock> lock_;
  std::vector<RunStatus> statuses_;
  std::function<void(RunStatus)> on_status_;
};

TEST_F(UntilWriterGone, a_runner_ends_and_has_judged_what_was_committed) {
  hold();
  Trial trial(std::make_shared<LocalStore>(scratch_.path()));
  writer_.save_steps({0, 1, 2});
  RunnerOptions until = options();
  until.until_writer_gone = true;
  RuleRunner runner(trial, until);
  runner.add(at(trial, 2, "Rule"));
  const Result result = run_all(runner, [this](const VerdictLine& line) {
    if (line.final_line) return;
    writer_.save_steps({3});
    give_up();
  });
  EXPECT_THAT(result.lines, ElementsAre("2 Rule IssuesFound", "end Rule IssuesFound"));
  EXPECT_EQ(result.summary.rules[0].steps_evaluated, 4);
  EXPECT_EQ(result.summary.rules[0].message, "");
  EXPECT_THAT(statuses_, ElementsAre(RunStatus::Interrupted));
}

TEST_F(UntilWriterGone, a_runner_judges_what_only_some_workers_committed) {
  WorkerWriter first(store_, {"worker_0", 2});
  WorkerWriter second(store_, {"worker_1", 2});
  first.save_steps({0, 1});
  second.save_steps({0});
  DirectoryLock::try_acquire(scratch_.path(), lock_name("worker_0"));
  DirectoryLock::try_acquire(scratch_.path(), lock_name("worker_1"));
  Trial trial(std::make_shared<LocalStore>(scratch_.path()));
  RunnerOptions until = options();
  until.until_writer_gone = true;
  RuleRunner runner(trial, until);
  runner.add(always(trial, "Rule"));
  const Result result = run_all(runner);
  EXPECT_THAT(result.lines,
              ElementsAre("0 Rule IssuesFound", "1 Rule IssuesFound", "end Rule IssuesFound"));
  EXPECT_THAT(result.verdicts[1].missing_workers, ElementsAre("worker_1"));
}

TEST_F(UntilWriterGone, a_runner_that_waits_is_told_and_follows_who_comes_back) {
  hold();
  writer_.save_steps({0});
  give_up();
  on_status_ = [this](RunStatus status) {
    if (status == RunStatus::Interrupted) return hold();
    writer_.save_steps({1}).finish();
  };
  Trial trial(std::make_shared<LocalStore>(scratch_.path()));
  RuleRunner runner(trial, options());
  runner.add(always(trial, "Rule"));
  EXPECT_EQ(run_all(runner).summary.rules[0].steps_evaluated, 2);
  EXPECT_THAT(statuses_, ElementsAre(RunStatus::Interrupted, RunStatus::Running));
}

}  // namespace
}  // namespace cupel::testing
