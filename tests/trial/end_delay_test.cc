#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/format/layout.h"
#include "trial/trial_fixture.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr const char* kVariable = "SMDEBUG_TRAINING_END_DELAY_REFRESH";

/// A run of steps 0 and 1 that has ended; step 2 arrives after a reader that saw the end has read
/// the index, and before it is done.
struct LateFile : MemoryRun {
  WorkerWriter writer = worker();
  std::shared_ptr<StoreWrapper> seen = std::make_shared<StoreWrapper>(store);
  bool index_was_read = false, has_come = false;
  EnvironmentGuard environment;

  LateFile() {
    environment.unset(kVariable);
    writer.save_steps({0, 1}).finish();
    seen->before_get_range = [this](std::string_view) { index_was_read = true; };
    seen->before_list = [this](std::string_view) {
      if (index_was_read && !std::exchange(has_come, true)) writer.save_steps({2}).seal();
    };
  }
  Steps steps(TrialOptions options = {}) const { return Trial(seen, options).steps(); }
};

TEST(EndDelay, is_none_by_default_because_the_marker_is_written_last) {
  const LateFile run;
  EXPECT_THAT(run.steps(), ElementsAre(0, 1));
}

TEST(EndDelay, lets_the_trial_look_once_more_after_the_end_marker) {
  const LateFile run;
  const Trial trial = MemoryRun::open_over(run.seen, {.end_delay = milliseconds(1)});
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(trial.ended());
}

TEST(EndDelay, is_taken_from_the_environment_in_seconds) {
  LateFile run;
  run.environment.set(kVariable, "0.001");
  EXPECT_THAT(run.steps(), ElementsAre(0, 1, 2));
}

TEST(EndDelay, of_the_options_comes_before_that_of_the_environment) {
  LateFile run;
  run.environment.set(kVariable, "0.001");
  EXPECT_THAT(run.steps({.end_delay = milliseconds(0)}), ElementsAre(0, 1));
}

TEST(EndDelay, that_is_no_number_of_seconds_is_ignored) {
  for (const char* text : {"soon", "-1", "nan", "inf", "1e9", ""}) {
    LateFile run;
    run.environment.set(kVariable, text);
    EXPECT_THAT(run.steps(), ElementsAre(0, 1)) << text;
  }
}

}  // namespace
}  // namespace cupel::testing
