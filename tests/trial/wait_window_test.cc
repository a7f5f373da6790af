#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kVariable = "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW";

/// Three workers, of whom at first only `a` saves.
struct SlowWorkers : MemoryRun {
  WorkerWriter a = worker({"a", 3}), b = worker({"b", 3}), c = worker({"c", 3});
  EnvironmentGuard environment;

  SlowWorkers() { environment.unset(kVariable); }
  void save(WorkerWriter& writer, std::int64_t begin, std::int64_t end) {
    for (std::int64_t step = begin; step < end; ++step) writer.save_steps({step});
  }
  Trial trial(std::int64_t window) const { return open({.wait_window = window}); }
};

TEST(WaitWindow, goes_on_by_half_of_it_when_the_run_is_opened_and_then_until_it_is_kept) {
  SlowWorkers run;
  run.save(run.a, 0, 20);
  Trial trial = run.trial(10);
  {
    const NoRefresh as_opened(trial);
    EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_EQ(trial.last_complete_step(), 4);
    EXPECT_EQ(trial.has_passed_step(4), StepState::Available);
    EXPECT_EQ(trial.has_passed_step(5), StepState::NotYetAvailable);
  }
  EXPECT_TRUE(trial.refresh());
  EXPECT_FALSE(trial.refresh());
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(trial.last_complete_step(), 9);
  EXPECT_THAT(trial.missing_workers(9), ElementsAre("b", "c"));
}

TEST(WaitWindow, is_not_exceeded_by_as_many_steps) {
  SlowWorkers run;
  run.save(run.a, 0, 10);
  EXPECT_THAT(run.trial(10).steps(), IsEmpty());
  run.save(run.a, 10, 11);
  EXPECT_THAT(run.trial(10).steps(), ElementsAre(0, 1, 2, 3, 4));
}

TEST(WaitWindow, of_one_lets_one_step_wait) {
  SlowWorkers run;
  run.save(run.a, 0, 3);
  Trial trial = run.trial(1);
  while (trial.refresh()) {
  }
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(WaitWindow, is_none_by_default) {
  SlowWorkers run;
  run.a.put_after(100);
  run.save(run.a, 0, 2000);
  EXPECT_THAT(run.open().steps(), IsEmpty());
}

TEST(WaitWindow, counts_steps_from_where_all_workers_are) {
  SlowWorkers run;
  run.save(run.a, 0, 14);
  run.save(run.b, 0, 4);
  run.save(run.c, 0, 4);
  EXPECT_EQ(run.trial(10).last_complete_step(), 3);  // ten more wait
  run.save(run.a, 14, 15);
  EXPECT_EQ(run.trial(10).last_complete_step(), 8);
}

TEST(WaitWindow, is_forgotten_where_workers_come_after_all) {
  SlowWorkers run;
  run.save(run.a, 0, 12);
  const Trial trial = run.trial(10);
  EXPECT_EQ(trial.last_complete_step(), 4);
  run.save(run.b, 0, 8);
  run.save(run.c, 0, 9);
  EXPECT_EQ(trial.last_complete_step(), 7);
  EXPECT_THAT(trial.missing_workers(4), IsEmpty());
}

TEST(WaitWindow, lets_who_waits_for_a_step_go_on) {
  SlowWorkers run;
  run.save(run.a, 0, 40);
  const Trial trial = run.trial(4);
  trial.wait_for_steps({35}, Mode::Global, {.timeout = milliseconds(60000)});
  EXPECT_EQ(trial.last_complete_step(), 35);
  EXPECT_THROW(trial.wait_for_steps({36}, Mode::Global, {.timeout = milliseconds(0)}),
               StepNotYetAvailable);
}

TEST(WaitWindow, begins_anew_where_a_restarted_worker_goes_back) {
  SlowWorkers run;
  run.save(run.a, 0, 12);
  const Trial trial = run.trial(10);
  EXPECT_EQ(trial.last_complete_step(), 4);
  WorkerWriter again(*run.store, {.worker = "a", .num_workers = 3, .attempt = 1});
  again.save_steps({2});
  EXPECT_EQ(trial.last_complete_step(), 1);
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1));
}

TEST(WaitWindow, is_taken_from_the_environment) {
  SlowWorkers run;
  run.save(run.a, 0, 11);
  run.environment.set(kVariable, "10");
  EXPECT_THAT(run.open().steps(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(run.trial(11).steps(), IsEmpty()) << "options come first";
  for (const char* text : {"many", "0", "-3", "nan", ""}) {
    run.environment.set(kVariable, text);
    EXPECT_THAT(run.open().steps(), IsEmpty()) << text;
  }
}

TEST(WaitWindow, of_no_steps_is_refused) {
  const SlowWorkers run;
  EXPECT_THROW(run.trial(0), UsageError);
  EXPECT_THROW(run.trial(-1), UsageError);
}

}  // namespace
}  // namespace cupel::testing
