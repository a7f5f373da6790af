#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/run_follower.h"
#include "store/scratch_directory.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

struct WaitedFor : MemoryRun {
  WorkerWriter writer = worker();
  WaitedFor() { writer.save_steps({0, 10}); }
};

TEST(WaitForSteps, returns_at_once_for_what_is_there) {
  WaitedFor run;
  const Trial trial = run.open();
  EXPECT_NO_THROW(trial.wait_for_steps({0, 10}, Mode::Train));
  EXPECT_NO_THROW(trial.wait_for_steps({}));
}

TEST(WaitForSteps, ends_at_once_for_what_the_run_has_passed) {
  WaitedFor run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.wait_for_steps({5}), StepUnavailable);
  EXPECT_THROW(trial.wait_for_steps({0, 5, 99}), StepUnavailable);
}

TEST(WaitForSteps, ends_when_another_thread_commits_the_step) {
  WaitedFor run;
  const Trial trial = run.open();
  std::jthread training([&] { run.writer.save_steps({20}); });
  trial.wait_for_steps({20});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 10, 20));
}

TEST(WaitForSteps, ends_when_another_thread_goes_past_the_step) {
  WaitedFor run;
  const Trial trial = run.open();
  std::jthread training([&] { run.writer.save_steps({30}); });
  EXPECT_THROW(trial.wait_for_steps({20}), StepUnavailable);
}

TEST(WaitForSteps, ends_when_another_thread_ends_the_run) {
  WaitedFor run;
  const Trial trial = run.open();
  std::jthread training([&] { run.writer.finish(); });
  try {
    trial.wait_for_steps({20}, Mode::Train);
    FAIL();
  } catch (const NoMoreData& end) {
    EXPECT_EQ(end.step, 20);
    EXPECT_EQ(end.last_step, 10);
  }
}

TEST(WaitForSteps, waits_for_all_workers) {
  MemoryRun run;
  WorkerWriter a = run.worker({"a", 2}), b = run.worker({"b", 2});
  a.save_steps({0, 1});
  b.save_steps({0});
  const Trial trial = run.open();
  EXPECT_THROW(trial.wait_for_steps({1}, Mode::Global, {.timeout = milliseconds(1)}),
               StepNotYetAvailable);
  std::jthread training([&] { b.save_steps({1}); });
  EXPECT_NO_THROW(trial.wait_for_steps({1}));
}

TEST(WaitForSteps, gives_up_when_the_time_is_over) {
  WaitedFor run;
  const Trial trial = run.open();
  EXPECT_THROW(trial.wait_for_steps({20}, Mode::Global, {.timeout = milliseconds(5)}),
               StepNotYetAvailable);
  EXPECT_THROW(trial.wait_for_steps({20}, Mode::Global, {.timeout = milliseconds(0)}),
               StepNotYetAvailable);
}

TEST(WaitForSteps, ends_when_a_stop_is_requested) {
  WaitedFor run;
  const Trial trial = run.open();
  std::stop_source stop;
  std::jthread impatient([&] { stop.request_stop(); });
  EXPECT_THROW(trial.wait_for_steps({20}, Mode::Global, {.stop = stop.get_token()}),
               StepNotYetAvailable);
}

TEST(WaitForSteps, works_on_a_local_run) {
  const ScratchDirectory directory;
  auto store = std::make_shared<LocalStore>((directory / "run").string());
  WorkerWriter writer(*store);
  const Trial trial(store);
  std::jthread training([&] { writer.save_steps({0}).seal().save_steps({1500}).finish(); });
  EXPECT_NO_THROW(trial.wait_for_steps({0, 1500}));
  EXPECT_THROW(trial.wait_for_steps({1501}), NoMoreData);
}

TEST(WaitForChange, returns_when_something_was_written) {
  WaitedFor run;
  const Trial trial = run.open();
  RunFollower follower(trial);
  static_cast<void>(follower.wait_for_change(milliseconds(0)));
  std::jthread training([&] { run.writer.save_steps({20}); });
  EXPECT_TRUE(follower.wait_for_change(milliseconds(60'000)));
}

TEST(WaitForChange, returns_when_the_time_is_over) {
  WaitedFor run;
  const Trial trial(run.store);
  RunFollower follower(trial);
  static_cast<void>(follower.wait_for_change(milliseconds(0)));
  EXPECT_FALSE(follower.wait_for_change(milliseconds(1)));
}

TEST(WaitForChange, is_ended_by_wake) {
  WaitedFor run;
  const Trial trial(run.store, {.polling = {.min_interval = std::chrono::hours(1)}});
  RunFollower follower(trial);
  static_cast<void>(follower.wait_for_change(milliseconds(0)));
  std::jthread other([&] { follower.wake(); });
  EXPECT_FALSE(follower.wait_for_change(milliseconds(60'000)));
}

TEST(Threads, may_query_beside_one_that_refreshes) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  writer.collection("all", {"."}).save(0, {filled("w", 20, 0), scalar("loss", 0)});
  const Trial trial = run.open();
  constexpr std::int64_t kSteps = 60;
  std::atomic<bool> done = false;
  const auto query = [&](const Trial& view) {
    while (!done) {
      const Steps steps = view.steps();
      const std::int64_t last = steps.back();
      EXPECT_EQ(steps.size(), static_cast<std::size_t>(last) + 1);
      EXPECT_EQ(view.tensor("w").value(last).at(19), static_cast<double>(last));
      EXPECT_GE(view.tensor_names({.step = last, .collection = "all"}).size(), 2U);
      EXPECT_GE(view.tensor("loss").prev_steps(last, 3).back(), last);
    }
  };
  {
    const auto view = trial.view();
    std::jthread same([&] { query(trial); }), other([&] { query(*view); });
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      writer.save(step, {filled("w", 20, static_cast<float>(step)), scalar("loss", 0),
                         scalar("t" + std::to_string(step), 1)});
      if (step % 7 == 0) writer.seal();
      trial.refresh();
    }
    done = true;
  }
  writer.finish();
  EXPECT_EQ(trial.steps().size(), static_cast<std::size_t>(kSteps) + 1);
  EXPECT_TRUE(trial.ended());
}

TEST(Threads, may_keep_old_snapshots_while_an_attempt_takes_steps_back) {
  MemoryRun run;
  run.worker().save_steps({0, 1, 2, 3});
  const Trial trial = run.open();
  std::atomic<bool> done = false;
  {
    const auto view = trial.view();
    const NoRefresh pinned(*view);
    std::jthread reader([&] {
      while (!done) EXPECT_THAT(view->tensor("loss").steps(), ElementsAre(0, 1, 2, 3));
    });
    for (std::int32_t attempt = 1; attempt < 20; ++attempt) {
      run.worker({"worker_0", 1, attempt}).save_steps({1, 2});
      trial.refresh();
    }
    done = true;
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace cupel::testing
