// Clocks jump; what a step holds does not depend on when its writer believed to save it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "rules/rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct JumpingRun : MemoryRun {
  JumpingRun() {
    constexpr std::int64_t kHour = 3'600'000'000;
    const std::int64_t times[] = {10 * kHour,
                                  9 * kHour,
                                  -kHour,
                                  0,
                                  std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max()};
    WorkerWriter writer = worker();
    std::int64_t step = 0;
    for (const std::int64_t time : times) {
      const float value = step == 2 ? std::numeric_limits<float>::infinity() : 1;
      writer.save(At(step++).when(time), {raw("w", {value, 2})});
    }
    writer.finish();
  }
};

TEST(Clock, rows_whose_time_goes_backwards_or_lies_before_1970_are_read) {
  const JumpingRun run;
  const Trial trial = run.open();
  EXPECT_THAT(trial.steps(), ElementsAre(0, 1, 2, 3, 4, 5));
  for (const std::int64_t step : trial.steps()) EXPECT_EQ(trial.tensor("w").value(step).at(1), 2);
  EXPECT_TRUE(trial.ended());
}

TEST(Clock, rows_whose_time_goes_backwards_or_lies_before_1970_are_judged) {
  const JumpingRun run;
  for (const std::int64_t step : {0, 1, 3, 4, 5})
    EXPECT_THAT(judge_step(run, "ExplodingTensor", {}, step).findings(), IsEmpty()) << step;
  EXPECT_THAT(judge_step(run, "ExplodingTensor", {}, 2).findings(), SizeIs(1));
}

}  // namespace
}  // namespace cupel::testing
