// That a rule met NaN is told by its lines; which steps are said to hold some is data, the key
// nan_seen of cases/*.json.

#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "rules/runner_results.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

TEST(NanSeen, is_said_by_the_lines_of_the_step_that_holds_it) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  MemoryRun run;
  run.worker()
      .save(0, {scalar("w", nan)})
      .save(1, {scalar("w", std::numeric_limits<double>::infinity())})
      .finish();
  Trial trial = run.open();
  RuleRunner runner(trial, {.explain = true});
  runner.add("ExplodingTensor");
  std::vector<bool> said;
  run_all(runner, [&](const VerdictLine& line) { said.push_back(line.nan_seen); });
  // Explained and IssuesFound of each step, then the closing line.
  EXPECT_THAT(said, ElementsAre(true, true, false, false, false));
}

}  // namespace
}  // namespace cupel::testing
