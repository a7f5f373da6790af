#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cupel/core/error.h"
#include "rules/rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A run of one worker with one step and the collection gradients: names that begin with "g".
struct GradientRun : MemoryRun {
  WorkerWriter writer = worker();
  explicit GradientRun(std::vector<SavedTensor> tensors) {
    writer.collection("gradients", {"^g"});
    writer.save(0, std::move(tensors));
  }
};

Lines judge(const GradientRun& run, const RuleParameters& parameters = {}) {
  return describe(judge_step(run, "VanishingGradient", parameters));
}

TEST(VanishingGradient, fires_below_the_threshold) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "abs_mean", 3.1e-9)})),
              ElementsAre("fires g worker_0 3.1e-09 vs 1e-07: abs_mean 3.1e-09 < 1e-07"));
}

TEST(VanishingGradient, does_not_fire_at_exactly_the_threshold) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "abs_mean", 1e-7)})), IsEmpty());
}

TEST(VanishingGradient, does_not_fire_above_the_threshold) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "abs_mean", 2e-7)})), IsEmpty());
}

TEST(VanishingGradient, fires_when_only_the_second_tensor_is_small) {
  EXPECT_THAT(judge(GradientRun({reduced("g1", "abs_mean", 1), reduced("g2", "abs_mean", 1e-9)})),
              ElementsAre("fires g2 worker_0 1e-09 vs 1e-07: abs_mean 1e-09 < 1e-07"));
}

TEST(VanishingGradient, reports_every_small_tensor_by_name) {
  EXPECT_THAT(judge(GradientRun({reduced("g2", "abs_mean", 0), reduced("g1", "abs_mean", 1e-9)})),
              ElementsAre("fires g1 worker_0 1e-09 vs 1e-07: abs_mean 1e-09 < 1e-07",
                          "fires g2 worker_0 0 vs 1e-07: abs_mean 0 < 1e-07"));
}

TEST(VanishingGradient, takes_a_threshold) {
  const GradientRun run({reduced("g", "abs_mean", 5e-6)});
  EXPECT_THAT(judge(run), IsEmpty());
  EXPECT_THAT(judge(run, {{"threshold", "1e-5"}}),
              ElementsAre("fires g worker_0 5e-06 vs 1e-05: abs_mean 5e-06 < 1e-05"));
}

TEST(VanishingGradient, refuses_a_negative_threshold_and_unknown_parameters) {
  const GradientRun run({reduced("g", "abs_mean", 1)});
  EXPECT_THROW(judge(run, {{"threshold", "-1"}}), UsageError);
  EXPECT_THROW(judge(run, {{"treshold", "1"}}), UsageError);
}

TEST(VanishingGradient, falls_back_on_l1_over_the_number_of_elements) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "l1", 2e-7)})),  // of 4 elements
              ElementsAre("fires g worker_0 5e-08 vs 1e-07: abs_mean 5e-08 < 1e-07"));
  EXPECT_THAT(judge(GradientRun({reduced("g", "l1", 8e-7)})), IsEmpty());
}

TEST(VanishingGradient, takes_other_names_of_the_sum_of_magnitudes) {
  for (const char* name : {"abs_l1", "abs_sum"})
    EXPECT_THAT(judge(GradientRun({reduced("g", name, 2e-7)})),
                ElementsAre("fires g worker_0 5e-08 vs 1e-07: abs_mean 5e-08 < 1e-07"))
        << name;
}

TEST(VanishingGradient, falls_back_on_the_raw_value) {
  EXPECT_THAT(judge(GradientRun({raw_of<double>("g", {1e-8, -3e-8})})),
              ElementsAre("fires g worker_0 2e-08 vs 1e-07: abs_mean 2e-08 < 1e-07"));
  EXPECT_THAT(judge(GradientRun({raw_of<double>("g", {1, -1})})), IsEmpty());
}

TEST(VanishingGradient, reads_raw_values_from_the_events_file) {
  EXPECT_THAT(judge(GradientRun({filled("g", 1000, 0)})),
              ElementsAre("fires g worker_0 0 vs 1e-07: abs_mean 0 < 1e-07"));
}

TEST(VanishingGradient, prefers_what_was_saved_to_the_raw_value) {
  EXPECT_THAT(judge(GradientRun({raw("g", {0, 0}).with("abs_mean", 1)})), IsEmpty());
}

TEST(VanishingGradient, opens_no_value_when_the_index_suffices) {
  GradientRun run({filled("g", 1000, 0).with("abs_mean", 1e-9)});
  run.store->remove(run.writer.events_key());
  EXPECT_THAT(judge(run), ElementsAre("fires g worker_0 1e-09 vs 1e-07: abs_mean 1e-09 < 1e-07"));
}

TEST(VanishingGradient, skips_a_tensor_whose_reductions_do_not_say) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "min", 0)})),
              ElementsAre("skips g worker_0: neither abs_mean nor l1 nor the raw value was saved"));
}

TEST(VanishingGradient, skips_a_value_that_is_gone_and_judges_the_others) {
  GradientRun run({filled("g1", 1000, 0), reduced("g2", "abs_mean", 0)});
  run.store->remove(run.writer.events_key());
  EXPECT_THAT(judge(run), ElementsAre("fires g2 worker_0 0 vs 1e-07: abs_mean 0 < 1e-07",
                                      HasSubstr("skips g1 worker_0: ")));
}

TEST(VanishingGradient, skips_text_and_empty_tensors) {
  EXPECT_THAT(judge(GradientRun({texts("g1", {"a"}), raw("g2", {})})),
              ElementsAre("skips g1 worker_0: text is no numbers",
                          "skips g2 worker_0: the tensor is empty"));
}

TEST(VanishingGradient, a_nan_never_fires) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "abs_mean", kNaN)})), IsEmpty());
}

TEST(VanishingGradient, looks_at_no_other_tensors) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "abs_mean", 1), reduced("w", "abs_mean", 0)})),
              IsEmpty());
}

TEST(VanishingGradient, does_not_apply_to_a_step_without_gradients) {
  EXPECT_THAT(
      judge(GradientRun({reduced("w", "abs_mean", 0)})),
      ElementsAre("not applicable: nothing of the collection gradients was saved at this step"));
}

TEST(VanishingGradient, a_tensor_saved_at_other_steps_is_not_selected) {
  GradientRun run({reduced("g1", "abs_mean", 0), reduced("g2", "abs_mean", 1)});
  run.writer.save(1, {reduced("g2", "abs_mean", 1)});
  EXPECT_THAT(describe(judge_step(run, "VanishingGradient", {}, 1)), IsEmpty());
}

TEST(VanishingGradient, judges_each_workers_copy_by_itself) {
  MemoryRun run;
  for (const char* name : {"worker_0", "worker_2", "worker_10"}) {
    auto writer = run.worker({.worker = name, .num_workers = 3});
    const bool healthy = std::string_view(name) == "worker_0";
    writer.collection("gradients", {"^g"});
    writer.save(0, {reduced("g", "abs_mean", healthy ? 1 : 1e-9)});
  }
  EXPECT_THAT(describe(judge_step(run, "VanishingGradient")),
              ElementsAre("fires g worker_2 1e-09 vs 1e-07: abs_mean 1e-09 < 1e-07",
                          "fires g worker_10 1e-09 vs 1e-07: abs_mean 1e-09 < 1e-07"));
}

TEST(VanishingGradient, integers_are_numbers_too) {
  EXPECT_THAT(judge(GradientRun({raw_of<std::int32_t>("g", {0, 0})})),
              ElementsAre("fires g worker_0 0 vs 1e-07: abs_mean 0 < 1e-07"));
}

TEST(VanishingGradient, explains_what_it_read_and_compared) {
  const GradientRun run({reduced("g1", "abs_mean", 1e-9), reduced("g2", "l1", 4), raw("g3", {1})});
  const Verdict verdict = judge_step(run, "VanishingGradient", {}, 0, true);
  EXPECT_THAT(readings(verdict),
              ElementsAre("g1 worker_0: abs_mean (saved)", "g2 worker_0: l1 / elements (saved)",
                          "g3 worker_0: abs_mean (from raw)"));
  EXPECT_EQ(verdict.observations()[0].compared, "1e-09 < 1e-07");
  EXPECT_TRUE(verdict.observations()[0].fired);
  EXPECT_FALSE(verdict.observations()[1].fired);
}

TEST(VanishingGradient, tells_apart_numbers_that_look_the_same) {
  EXPECT_THAT(judge(GradientRun({reduced("g", "abs_mean", 9.99999999e-8)})),
              ElementsAre("fires g worker_0 9.99999999e-08 vs 1e-07: "
                          "abs_mean 9.99999999e-08 < 1e-07"));
}

}  // namespace
}  // namespace cupel::testing
