// A process that ends with an open hook, in every way a process ends.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cupel/store/local_store.h"
#include "cupel/trial/trial.h"
#include "faults/trainer_process.h"
#include "store/scratch_directory.h"
#include "writer/small_training.h"

namespace cupel::testing {
namespace {

class Exit : public ::testing::TestWithParam<const char*> {
 protected:
  // What is wrong with the run; "" if it is true and holds the acknowledged steps.
  std::string examine(std::int64_t acknowledged, bool ended) const {
    const Trial trial(std::make_shared<LocalStore>(directory.path()));
    if (std::string defect = training.examine(trial); !defect.empty()) return defect;
    const auto there = static_cast<std::int64_t>(trial.steps().size());
    if (there <= acknowledged) return "an acknowledged step is not there";
    if (ended && there != training.steps()) return "there are " + std::to_string(there) + " steps";
    if (trial.ended() != ended) return ended ? "the run has not ended" : "the run has ended";
    return "";
  }

  const SmallTraining training{4};
  const ScratchDirectory directory;
};

TEST_P(Exit, an_open_hook_is_closed_when_main_returns_or_exits) {
  TrainerProcess trainer(directory.path(), "exits", GetParam());
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_EQ(examine(training.steps() - 1, true), "");
}

TEST_P(Exit, a_hook_that_was_closed_stays_so) {
  TrainerProcess trainer(directory.path(), "closes", GetParam());
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_EQ(trainer.report().disabled, 0);
  EXPECT_EQ(examine(training.steps() - 1, true), "");
}

TEST_P(Exit, a_handler_of_sigterm_that_exits_ends_the_run) {
  TrainerProcess trainer(directory.path(), "idle", GetParam());
  ASSERT_TRUE(trainer.await("ready"));
  trainer.terminate();
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_EQ(examine(training.steps() - 1, true), "");
}

TEST_P(Exit, sigterm_itself_loses_no_acknowledged_step) {
  TrainerProcess trainer(directory.path(), "killed", GetParam());
  ASSERT_TRUE(trainer.await("ready"));
  trainer.terminate();
  EXPECT_EQ(trainer.end(), -SIGTERM);
  EXPECT_EQ(trainer.acknowledged(), training.steps() - 2);
  EXPECT_EQ(examine(trainer.acknowledged(), false), "");
}

TEST_P(Exit, a_handler_that_exits_while_a_step_waits_for_its_index_entry_does_not_hang) {
  TrainerProcess trainer(directory.path(), "inside", GetParam(), "index/");
  ASSERT_TRUE(trainer.await("blocked"));
  trainer.terminate();
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_EQ(trainer.acknowledged(), 1);
  EXPECT_EQ(examine(1, false), "");
}

TEST_P(Exit, a_handler_that_exits_while_a_call_waits_for_values_to_be_written_does_not_hang) {
  TrainerProcess trainer(directory.path(), "inside", GetParam(), "events/");
  ASSERT_TRUE(trainer.await("blocked"));
  trainer.terminate();
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_EQ(examine(1, false), "");
}

INSTANTIATE_TEST_SUITE_P(All, Exit,
                         ::testing::Values("static", "global", "stack", "heap", "second"),
                         [](const auto& where) { return std::string(where.param); });

}  // namespace
}  // namespace cupel::testing
