// Real files that cannot be written any more.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "cupel/store/local_store.h"
#include "faults/trainer_process.h"
#include "store/scratch_directory.h"
#include "writer/small_training.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;

class FileFaults : public ::testing::Test {
 protected:
  // Trains; `fault` happens when the third step has begun.
  Outcome train_with(const std::function<void()>& fault) const {
    Outcome outcome;
    const ErrorCount errors;
    Hook hook(SmallTraining::options(), std::make_shared<LocalStore>(run));
    outcome.constructed = true;
    std::int64_t begun = 0;
    outcome.acknowledged = training.run(hook, [&](std::int64_t) {
      if (++begun == 3) fault();
    });
    outcome.report = hook.close();
    outcome.errors = errors.count();
    return outcome;
  }
  void expect_that_it_told(const Outcome& outcome) const {
    EXPECT_TRUE(outcome.report.disabled);
    EXPECT_EQ(outcome.errors, 1);
    EXPECT_FALSE(outcome.report.problems.empty());
    EXPECT_EQ(outcome.report.steps_begun, training.steps());
    EXPECT_GE(outcome.acknowledged, 1);
  }

  const SmallTraining training{4};
  const ScratchDirectory directory;
  const std::string run = (directory / "run").string();
};

TEST_F(FileFaults, a_run_whose_directory_vanishes_costs_no_training) {
  expect_that_it_told(train_with([&] { fs::remove_all(run); }));
}

TEST_F(FileFaults, a_run_whose_directory_vanishes_is_not_begun_anew) {
  const Outcome outcome = train_with([&] { fs::rename(run, directory / "moved"); });
  expect_that_it_told(outcome);
  ASSERT_FALSE(outcome.report.problems.empty());
  EXPECT_NE(outcome.report.problems.front().find("removed or moved"), std::string::npos)
      << outcome.report.problems.front();
  EXPECT_NE(outcome.report.problems.front().find(run), std::string::npos);
  EXPECT_FALSE(fs::exists(run));
  const Trial trial(std::make_shared<LocalStore>((directory / "moved").string()));
  EXPECT_EQ(training.examine(trial), "");
}

TEST_F(FileFaults, nothing_is_written_into_another_folder_in_the_place_of_the_run) {
  expect_that_it_told(train_with([&] {
    fs::rename(run, directory / "moved");
    fs::create_directory(run);
  }));
  EXPECT_TRUE(fs::is_empty(run));
}

TEST_F(FileFaults, a_run_whose_directory_becomes_a_file_costs_no_training) {
  expect_that_it_told(train_with([&] {
    fs::rename(run, directory / "before");
    std::ofstream(run) << "in the way";
  }));
  const Trial trial(std::make_shared<LocalStore>((directory / "before").string()));
  EXPECT_EQ(training.examine(trial), "");
  EXPECT_GE(trial.steps().size(), 2);
}

TEST_F(FileFaults, files_that_may_not_grow_lose_no_acknowledged_step) {
  for (const int limit : {1, 2000, 3500, 5000, 20'000, 100'000, 150'000, 200'000, 230'000, 300'000,
                          400'000, 470'000}) {
    const std::string limited = run + std::to_string(limit);
    TrainerProcess trainer(limited, "limited", "stack", std::to_string(limit));
    ASSERT_EQ(trainer.end(), 0) << limit;
    const auto report = trainer.report();
    EXPECT_EQ(report.errors, report.disabled) << limit;
    EXPECT_EQ(report.problems > 0, report.disabled == 1) << limit;
    EXPECT_GE(report.last, trainer.acknowledged());
    try {
      const Trial trial(std::make_shared<LocalStore>(limited));
      EXPECT_EQ(training.examine(trial), "") << limit;
      EXPECT_GT(static_cast<int>(trial.steps().size()), report.last) << limit;
      EXPECT_EQ(trial.ended(), report.disabled == 0) << limit;
    } catch (const MissingCollectionFiles&) {
      EXPECT_EQ(report.last, -1) << limit;
    }
  }
}

}  // namespace
}  // namespace cupel::testing
