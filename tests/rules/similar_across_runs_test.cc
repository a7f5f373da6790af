#include <gmock/gmock.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Two runs; the rule is evaluated over the first and opens the second by its path.
class SimilarAcrossRuns : public ::testing::Test {
 protected:
  RuleParameters parameters(RuleParameters more = {}) const {
    more["other_trials"] = (scratch_ / "other").string();
    return more;
  }
  Verdict judge(const RuleParameters& more = {}, std::int64_t step = 0, bool explain = false) {
    Trial trial = here_.open();
    const auto rule = make_builtin_rule("SimilarAcrossRuns", trial, parameters(more));
    rule->set_explaining(explain);
    return rule->evaluate(step, trial.snapshot());
  }
  Lines said(const RuleParameters& more = {}) { return describe(judge(more)); }

  MemoryRun here_;
  WorkerWriter run_ = here_.worker();
  ScratchDirectory scratch_;
  LocalStore other_store_{(scratch_ / "other").string()};
  WorkerWriter other_ = WorkerWriter(other_store_);
};

TEST_F(SimilarAcrossRuns, says_nothing_of_what_is_close) {
  run_.save(0, {raw("w", {1, 2})});
  other_.save(0, {raw("w", {1, 2.00001F})}).finish();
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(SimilarAcrossRuns, fires_for_each_tensor_that_differs) {
  run_.save(0, {raw("a", {1, 2}), raw("b", {1}), raw("c", {5})});
  other_.save(0, {raw("a", {1, 2.5}), raw("b", {1}), raw("c", {4})}).finish();
  EXPECT_THAT(said(),
              ElementsAre("fires a worker_0 0.5 vs 1e-08: different, largest difference 0.5",
                          "fires c worker_0 1 vs 1e-08: different, largest difference 1"));
}

TEST_F(SimilarAcrossRuns, tolerances_are_of_the_other_runs_elements_and_belong_to_it) {
  run_.save(0, {raw("w", {110})});
  other_.save(0, {raw("w", {100})}).finish();
  EXPECT_THAT(said({{"rtol", "0.1"}, {"atol", "0"}}), IsEmpty());
  EXPECT_FALSE(said({{"rtol", "0.0999"}, {"atol", "0"}}).empty());
  EXPECT_THAT(said({{"rtol", "0"}, {"atol", "10"}}), IsEmpty());
}

TEST_F(SimilarAcrossRuns, shapes_that_differ_are_different) {
  run_.save(0, {raw("w", {1, 2, 3, 4}).shaped({2, 2}), raw("v", {1, 2})});
  other_.save(0, {raw("w", {1, 2, 3, 4}), raw("v", {1, 2, 3})}).finish();
  EXPECT_THAT(said(), ElementsAre(HasSubstr("fires v worker_0 0 vs 1e-08: different"),
                                  HasSubstr("its shape differs")));
}

TEST_F(SimilarAcrossRuns, nan_is_the_same_as_nan_and_as_nothing_else) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  run_.save(0, {raw("both", {nan}), raw("one", {nan})});
  other_.save(0, {raw("both", {nan}), raw("one", {1})}).finish();
  EXPECT_THAT(said(), ElementsAre(StartsWith("fires one")));
}

TEST_F(SimilarAcrossRuns, compares_the_same_mode_step_and_worker) {
  run_.save({0, Mode::Train, 0}, {raw("w", {1})}).save({1, Mode::Eval, 0}, {raw("w", {2})});
  other_.save({0, Mode::Eval, 0}, {raw("w", {2})})
      .save({1, Mode::Train, 0}, {raw("w", {1})})
      .finish();
  EXPECT_THAT(describe(judge({}, 0)), IsEmpty());
  EXPECT_THAT(describe(judge({}, 1)), IsEmpty());
}

TEST_F(SimilarAcrossRuns, skips_what_the_other_run_has_not_saved) {
  run_.save(0, {raw("w", {1}), raw("only_here", {1})});
  other_.save(0, {raw("w", {1}), raw("only_there", {1})}).finish();
  EXPECT_THAT(said(), ElementsAre("skips only_here worker_0: the other run has not saved it at "
                                  "this step"));
}

TEST_F(SimilarAcrossRuns, looks_at_what_the_parameters_choose) {
  run_.save(0, {raw("a", {1}), raw("b", {1})});
  other_.save(0, {raw("a", {2}), raw("b", {2})}).finish();
  EXPECT_THAT(said({{"tensor_regex", "b"}}), ElementsAre(StartsWith("fires b")));
}

TEST_F(SimilarAcrossRuns, compares_reductions_where_a_value_is_missing) {
  run_.save(0, {reduced("w", "max", 3).with("min", 0)});
  other_.save(0, {reduced("w", "max", 4).with("mean", 1)}).finish();
  EXPECT_THAT(said(), ElementsAre("fires w worker_0 1 vs 1e-08: different, largest difference 1, "
                                  "approximate: of max"));
}

TEST_F(SimilarAcrossRuns, skips_what_has_nothing_in_common) {
  run_.save(0, {reduced("w", "max", 3)});
  other_.save(0, {reduced("w", "min", 3)}).finish();
  EXPECT_THAT(said(), ElementsAre(StartsWith("skips w worker_0: the runs have neither")));
}

TEST_F(SimilarAcrossRuns, saved_means_settle_that_values_differ_without_reading_them) {
  run_.save(0, {filled("w", 100, 1).with("mean", 1).with("abs_mean", 1)});
  other_.save(0, {filled("w", 100, 2).with("mean", 2).with("abs_mean", 2)}).finish();
  EXPECT_THAT(readings(judge({}, 0, true)), ElementsAre("w worker_0: mean, abs_mean (saved)"));
}

TEST_F(SimilarAcrossRuns, fires_where_all_is_similar_if_told_to) {
  run_.save(0, {raw("a", {1}), raw("b", {1})}).save(1, {raw("a", {1}), raw("b", {1})});
  other_.save(0, {raw("a", {1}), raw("b", {1})}).save(1, {raw("a", {1}), raw("b", {2})}).finish();
  const RuleParameters similar = {{"fire_on", "similar"}};
  EXPECT_THAT(describe(judge(similar, 0)),
              ElementsAre("fires a worker_0 0 vs 1e-08: all 2 tensors that both runs have are "
                          "close, largest difference 0"));
  EXPECT_THAT(describe(judge(similar, 1)), IsEmpty());
}

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

TEST_F(SimilarAcrossRuns, is_refused_without_another_run) {
  run_.save(0, {raw("w", {1})});
  Trial trial = here_.open();
  EXPECT_THROW(make_builtin_rule("SimilarAcrossRuns", trial), UsageError);
  EXPECT_THROW(make_builtin_rule("SimilarAcrossRuns", trial, {{"other_trials", "a,b"}}),
               UsageError);
  EXPECT_THROW(make_builtin_rule("SimilarAcrossRuns", trial,
                                 {{"other_trials", (scratch_ / "nothing").string()}}),
               MissingCollectionFiles);
}

}  // namespace
}  // namespace cupel::testing
