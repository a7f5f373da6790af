// Index files that are long enough to be read and checked by a second thread.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::SizeIs;

struct LongIndex : MemoryRun {
  static constexpr std::int64_t kSteps = 60;
  static constexpr int kTensors = 400;
  WorkerWriter writer = worker();
  std::vector<std::uint64_t> ends;  // of the index file, step by step

  LongIndex() {
    writer.put_after(kSteps);
    while (next < kSteps) save();
    EXPECT_GT(ends.back(), std::uint64_t{2} << 20U) << "the file is read by one thread";
    writer.put_after(1);
  }
  void save() {
    std::vector<SavedTensor> tensors;
    for (int i = 0; i < kTensors; ++i)
      tensors.push_back(reduced("tensor/number_" + std::to_string(i), "mean",
                                static_cast<double>(next * kTensors + i)));
    writer.save(next++, std::move(tensors));
    const auto file = store->stat(writer.index_key());
    ends.push_back(file ? file->size : 0);
  }
  std::int64_t next = 0;
};

Steps first_steps(std::int64_t count) {
  Steps steps;
  for (std::int64_t step = 0; step < count; ++step) steps.push_back(step);
  return steps;
}

/// Every row has the mean that was saved with it.
void expect_means(const Trial& trial, std::int64_t steps) {
  const ReductionTable table = trial.reductions();
  ASSERT_EQ(table.rows(), static_cast<std::size_t>(steps * LongIndex::kTensors));
  for (const int i : {0, 7, LongIndex::kTensors - 1}) {
    const Tensor tensor = trial.tensor("tensor/number_" + std::to_string(i));
    for (std::int64_t step = 0; step < steps; ++step)
      ASSERT_EQ(tensor.reduction_value(step, "mean"),
                static_cast<double>(step * LongIndex::kTensors + i));
  }
}

TEST(LongIndex, is_read_whole_and_in_order) {
  const LongIndex run;
  const Trial trial = run.open();
  EXPECT_EQ(trial.steps(), first_steps(LongIndex::kSteps));
  expect_means(trial, LongIndex::kSteps);
}

TEST(LongIndex, that_is_sealed_and_followed_goes_on) {
  LongIndex run;
  const Trial trial = run.open();
  run.writer.seal();
  run.save();
  EXPECT_EQ(trial.steps(), first_steps(LongIndex::kSteps + 1));
  expect_means(trial, LongIndex::kSteps + 1);
  expect_means(run.open(), LongIndex::kSteps + 1);
}

TEST(LongIndex, is_readable_up_to_its_damage) {
  LongIndex run;
  CUPEL_NEEDS_APPENDING(*run.store);
  const std::size_t damaged = 41;
  flip_bit(*run.store, run.writer.index_key(), run.ends[damaged] - 1000);
  const Trial trial = run.open();
  try {
    static_cast<void>(trial.steps());
    ADD_FAILURE() << "no damage";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, run.writer.index_key());
    EXPECT_EQ(error.offset, run.ends[damaged - 1]);
  }
  EXPECT_EQ(trial.steps(), first_steps(41));
  expect_means(trial, 41);
}

TEST(LongIndex, that_the_store_fails_to_give_is_read_by_the_next_look) {
  const LongIndex run;
  const auto failing = std::make_shared<StoreWrapper>(run.store);
  int calls = 0;
  failing->before_get_range = [&](std::string_view) {
    if (++calls == 1) throw StoreError("some", true, "it failed");
  };
  EXPECT_THROW(Trial{failing}, StoreError);
  EXPECT_THAT(Trial(failing).steps(), SizeIs(LongIndex::kSteps));
}

TEST(LongIndex, with_a_step_that_goes_back_is_damaged_there) {
  LongIndex run;
  run.writer.seal();
  run.writer.put_after(70);
  run.next = 50;  // the segment before it ends at step 59
  while (run.next < 120) run.save();
  const Trial trial = run.open();
  try {
    static_cast<void>(trial.steps());
    ADD_FAILURE() << "no damage";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.file, run.writer.index_key());
  }
  EXPECT_EQ(trial.steps(), first_steps(LongIndex::kSteps));
}

}  // namespace
}  // namespace cupel::testing
