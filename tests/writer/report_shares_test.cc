#include <gtest/gtest.h>

#include "hook_fixture.h"

namespace cupel {
namespace {

// They are taken by a clock that does not jump; one thread cannot spend more time than there is.
TEST_F(HookTest, the_shares_of_time_that_a_report_tells_lie_between_nothing_and_all) {
  auto hook = make_hook();
  for (int i = 0; i < 20; ++i) {
    hook->next_step();
    hook->save_tensor("fc.weight", view(ramp(20000)));
  }
  const HookReport report = hook->close();
  EXPECT_GT(report.overhead, 0);
  EXPECT_LE(report.overhead, 1);
  EXPECT_GE(report.waiting, 0);
  EXPECT_LE(report.waiting, 1);
  EXPECT_EQ(hook->close().overhead, report.overhead);
}

}  // namespace
}  // namespace cupel
