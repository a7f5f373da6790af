// How often a run is polled where every request costs, and how late news are seen.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "cupel/core/error.h"
#include "cupel/trial/run_follower.h"
#include "trial/far_run.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::Le;

/// A run whose steps are committed at times that were agreed on.
struct TimedRun : FarRun {
  WorkerWriter writer = worker();
  std::vector<milliseconds> times;  // of steps 0, 1, …
  std::int64_t next = 0;

  explicit TimedRun(std::vector<milliseconds> when) : times(std::move(when)) {
    store->before_request = [this](std::string_view kind, std::string_view) {
      if (kind != "LIST") return;
      while (next < std::ssize(times) && times[static_cast<std::size_t>(next)] <= clock->passed())
        writer.save_steps({next++});
    };
  }
  static std::vector<milliseconds> every(milliseconds pause, int count) {
    std::vector<milliseconds> times;
    for (int i = 1; i <= count; ++i) times.push_back(i * pause);
    return times;
  }
  /// Waits for all steps, one after another; by how much each was seen late.
  std::vector<milliseconds> delays(const Trial& trial) {
    std::vector<milliseconds> delays;
    for (std::size_t step = 0; step < times.size(); ++step) {
      trial.wait_for_steps({static_cast<std::int64_t>(step)});
      delays.push_back(clock->passed() - times[step]);
    }
    return delays;
  }
};

TEST(Polling, of_a_silent_run_becomes_rare) {
  TimedRun run({});
  const auto trial = run.open();
  const Requests spent = run.spent([&] {
    EXPECT_THROW(trial->wait_for_steps({0}, Mode::Global, {.timeout = minutes(30)}),
                 StepNotYetAvailable);
  });
  EXPECT_GE(run.clock->passed(), minutes(30));
  // 12 polls a minute, one of which asks for all files.
  EXPECT_LT(spent.all(), 30 * 14);
}

TEST(Polling, sees_the_first_news_after_a_silence_within_the_longest_pause) {
  TimedRun run({minutes(17) + milliseconds(1234)});
  const auto trial = run.open();
  EXPECT_THAT(run.delays(*trial), Each(Le(seconds(5))));
}

TEST(Polling, sees_news_that_come_regularly_soon_and_with_few_polls) {
  // As segments that are sealed every ten seconds.
  TimedRun run(TimedRun::every(seconds(10), 60));
  const auto trial = run.open();
  std::vector<milliseconds> delays;
  const Requests spent = run.spent([&] { delays = run.delays(*trial); });
  delays.erase(delays.begin(), delays.begin() + 5);  // while it learns
  EXPECT_THAT(delays, Each(Le(milliseconds(300))));
  EXPECT_LT(spent.list, 10 * 60);  // a minute has 240 least pauses
}

TEST(Polling, follows_a_run_whose_pace_changes) {
  std::vector<milliseconds> times = TimedRun::every(seconds(2), 30);
  for (int i = 1; i <= 30; ++i) times.push_back(times[29] + i * seconds(30));
  TimedRun run(times);
  const auto trial = run.open();
  const std::vector<milliseconds> delays = run.delays(*trial);
  EXPECT_THAT(delays, Each(Le(seconds(5))));
  EXPECT_THAT(std::vector(delays.begin() + 20, delays.begin() + 30), Each(Le(milliseconds(300))));
  EXPECT_THAT(std::vector(delays.begin() + 50, delays.end()), Each(Le(milliseconds(300))));
}

TEST(Polling, keeps_to_the_bounds_of_the_options) {
  TimedRun run({});
  const auto trial =
      run.open({.polling = {.min_interval = seconds(3), .max_interval = seconds(3)}});
  const Requests spent = run.spent([&] {
    EXPECT_THROW(trial->wait_for_steps({0}, Mode::Global, {.timeout = seconds(59)}),
                 StepNotYetAvailable);
  });
  EXPECT_EQ(spent.all(), 19);
  EXPECT_THROW(run.open({.polling = {.min_interval = milliseconds(-1)}}), UsageError);
}

TEST(Polling, is_shared_by_all_waiting_threads) {
  TimedRun run({seconds(1)});
  const auto trial = run.open();
  const auto other = trial->view();
  RunFollower follower(*other);
  static_cast<void>(follower.wait_for_change(milliseconds(0)));
  trial->wait_for_steps({0});
  // The follower gets the news of the other view without a request.
  const milliseconds now = run.clock->passed();
  EXPECT_EQ(run.spent([&] {
    EXPECT_TRUE(follower.wait_for_change(minutes(1)));
    follower.refresh_if_due();
  }),
            (Requests{}));
  EXPECT_EQ(run.clock->passed(), now);
}

TEST(Polling, reports_to_a_follower_that_does_not_refresh_at_the_least_interval) {
  TimedRun run({});
  const auto trial = run.open({.polling = {.min_interval = seconds(1)}});
  RunFollower follower(*trial);
  static_cast<void>(follower.wait_for_change(milliseconds(0)));
  int told = 0;
  EXPECT_EQ(run.spent([&] {
    while (run.clock->passed() < seconds(20)) told += follower.wait_for_change(minutes(1)) ? 1 : 0;
  }),
            (Requests{}));
  EXPECT_EQ(told, 20);
}

TEST(Polling, asks_the_stores_own_watch_for_nothing) {
  TimedRun run({seconds(1), seconds(2)});
  const auto trial = run.open();
  run.delays(*trial);
  EXPECT_EQ(run.store->requests().watch, 0);
}

}  // namespace
}  // namespace cupel::testing
