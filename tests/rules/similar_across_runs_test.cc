#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

// Two runs; the rule is evaluated over the first and opens the second by its path. What it says of
// runs that are whole is data: cases/SimilarAcrossRuns.json.
class SimilarAcrossRuns : public ::testing::Test {
 protected:
  RuleParameters parameters() const { return {{"other_trials", (scratch_ / "other").string()}}; }

  MemoryRun here_;
  WorkerWriter run_ = here_.worker();
  ScratchDirectory scratch_;
  LocalStore other_store_{(scratch_ / "other").string()};
  WorkerWriter other_ = WorkerWriter(other_store_);
};

TEST_F(SimilarAcrossRuns, waits_until_the_other_run_has_come_so_far) {
  run_.save(0, {raw("w", {1})}).save(1, {raw("w", {1})}).finish();
  other_.save(0, {raw("w", {1})});
  Trial trial = here_.open();
  RuleRunner runner(trial);
  runner.add("SimilarAcrossRuns", parameters());
  runner.add(written(trial, [this](Trial&, std::int64_t step) {
    if (step == 1) other_.save(1, {raw("w", {2})}).finish();
    return Verdict();
  }));
  EXPECT_THAT(run_all(runner).lines,
              ElementsAre("1 SimilarAcrossRuns IssuesFound", "end SimilarAcrossRuns IssuesFound",
                          "end Rule NoIssuesFound"));
}

TEST_F(SimilarAcrossRuns, takes_the_other_run_of_a_configuration) {
  run_.save(0, {raw("w", {1})}).finish();
  other_.save(0, {raw("w", {2})}).finish();
  Trial trial = here_.open();
  RuleConfiguration configuration{.definition = builtin_rules().find("SimilarAcrossRuns"),
                                  .other_trials = {(scratch_ / "other").string()}};
  RuleRunner runner(trial);
  runner.add(configuration.make(trial));
  EXPECT_THAT(run_all(runner).lines,
              ElementsAre("0 SimilarAcrossRuns IssuesFound", "end SimilarAcrossRuns IssuesFound"));
  EXPECT_FALSE(configuration.needs().tensors.empty());
}

TEST_F(SimilarAcrossRuns, is_refused_where_the_other_run_is_not_there) {
  run_.save(0, {raw("w", {1})});
  Trial trial = here_.open();
  EXPECT_THROW(builtin_rules()
                   .require("SimilarAcrossRuns")
                   .make(trial, {{"other_trials", (scratch_ / "nothing").string()}}),
               MissingCollectionFiles);
}

}  // namespace
}  // namespace cupel::testing
