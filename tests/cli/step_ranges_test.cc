#include "step_ranges.h"

#include <gmock/gmock.h>

namespace cupel::command_detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StepRanges, say_where_steps_begin_and_end_and_how_far_they_are_apart) {
  EXPECT_THAT(step_ranges({0, 10, 20, 30}), ElementsAre("0 to 30 by 10"));
  EXPECT_THAT(step_ranges({5, 6, 7}), ElementsAre("5 to 7"));
  EXPECT_THAT(step_ranges({0, 10, 20, 31, 41, 51}), ElementsAre("0 to 20 by 10", "31 to 51 by 10"));
}

TEST(StepRanges, have_single_steps_where_fewer_than_three_fit) {
  EXPECT_THAT(step_ranges({}), IsEmpty());
  EXPECT_THAT(step_ranges({7}), ElementsAre("7"));
  EXPECT_THAT(step_ranges({7, 9}), ElementsAre("7", "9"));
  EXPECT_THAT(step_ranges({0, 1, 3, 5, 7, 100}), ElementsAre("0", "1 to 7 by 2", "100"));
}

}  // namespace
}  // namespace cupel::command_detail
