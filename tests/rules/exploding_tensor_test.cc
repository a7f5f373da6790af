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
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNaNf = std::numeric_limits<float>::quiet_NaN();
constexpr float kInff = std::numeric_limits<float>::infinity();

const RuleParameters kOnlyNaN = {{"only_nan", "True"}};

/// A run of one worker with one step.
struct OneStep : MemoryRun {
  WorkerWriter writer = worker();
  explicit OneStep(std::vector<SavedTensor> tensors) { writer.save(0, std::move(tensors)); }
};

Lines judge(const MemoryRun& run, const RuleParameters& parameters = {}) {
  return describe(judge_step(run, "ExplodingTensor", parameters));
}
Lines judge(SavedTensor tensor, const RuleParameters& parameters = {}) {
  std::vector<SavedTensor> tensors;
  tensors.push_back(std::move(tensor));
  return judge(OneStep(std::move(tensors)), parameters);
}
std::string reading(SavedTensor tensor) {
  std::vector<SavedTensor> tensors;
  tensors.push_back(std::move(tensor));
  return readings(judge_step(OneStep(std::move(tensors)), "ExplodingTensor", {}, 0, true)).at(0);
}

SavedTensor counted(ValueCounts counts) { return only_shape("w", {100}).with(counts); }

TEST(ExplodingTensor, counts_in_the_index_say_how_many_elements_are_bad) {
  EXPECT_THAT(judge(counted({.nan = 3, .pos_inf = 1})),
              ElementsAre("fires w worker_0 4 vs 0: nan 3, +inf 1, -inf 0"));
  EXPECT_THAT(judge(counted({.neg_inf = 2})),
              ElementsAre("fires w worker_0 2 vs 0: nan 0, +inf 0, -inf 2"));
}

TEST(ExplodingTensor, counts_of_zero_mean_healthy) {
  EXPECT_THAT(judge(counted({.zero = 100})), IsEmpty());
}

TEST(ExplodingTensor, counts_come_before_reductions) {
  EXPECT_THAT(judge(counted({}).with("min", kNaN).with("max", kNaN)), IsEmpty());
}

TEST(ExplodingTensor, infinities_alone_do_not_fire_with_only_nan) {
  EXPECT_THAT(judge(counted({.pos_inf = 5}), kOnlyNaN), IsEmpty());
  EXPECT_THAT(judge(reduced("w", "max", kInf), kOnlyNaN), IsEmpty());
  EXPECT_THAT(judge(raw("w", {1, kInff}), kOnlyNaN), IsEmpty());
}

TEST(ExplodingTensor, only_nan_counts_nan) {
  EXPECT_THAT(judge(counted({.nan = 2, .pos_inf = 5}), kOnlyNaN),
              ElementsAre("fires w worker_0 2 vs 0: nan 2, +inf 5, -inf 0"));
}

TEST(ExplodingTensor, min_and_max_of_nan_fire) {
  EXPECT_THAT(judge(reduced("w", "min", kNaN).with("max", kNaN)),
              ElementsAre("fires w worker_0 NaN vs 0: min NaN, max NaN"));
  EXPECT_THAT(judge(reduced("w", "min", kNaN).with("max", kNaN), kOnlyNaN),
              ElementsAre("fires w worker_0 NaN vs 0: min NaN, max NaN"));
}

TEST(ExplodingTensor, an_infinite_extreme_fires) {
  EXPECT_THAT(judge(reduced("w", "min", -kInf).with("max", 2)),
              ElementsAre("fires w worker_0 -Infinity vs 0: min -Infinity, max 2"));
  EXPECT_THAT(judge(reduced("w", "abs_max", kInf)),
              ElementsAre("fires w worker_0 Infinity vs 0: abs_max Infinity"));
}

TEST(ExplodingTensor, finite_extremes_mean_healthy) {
  EXPECT_THAT(judge(reduced("w", "min", -1).with("max", 2)), IsEmpty());
  EXPECT_THAT(judge(reduced("w", "abs_max", 2)), IsEmpty());
}

TEST(ExplodingTensor, one_extreme_alone_leaves_infinities_open_but_not_nan) {
  EXPECT_THAT(judge(reduced("w", "max", 2)),
              ElementsAre(HasSubstr("skips w worker_0: what was saved leaves open")));
  EXPECT_THAT(judge(reduced("w", "max", 2), kOnlyNaN), IsEmpty());
}

TEST(ExplodingTensor, one_finite_total_proves_a_tensor_healthy) {
  for (const char* total : {"mean", "sum", "l1", "l2", "std", "variance", "prod", "abs_mean"})
    EXPECT_THAT(judge(reduced("w", total, 1)), IsEmpty()) << total;
}

TEST(ExplodingTensor, an_infinite_mean_fires_and_rules_nan_out) {
  EXPECT_THAT(judge(reduced("w", "mean", kInf)),
              ElementsAre("fires w worker_0 Infinity vs 0: mean Infinity"));
  EXPECT_THAT(judge(reduced("w", "mean", kInf), kOnlyNaN), IsEmpty());
}

TEST(ExplodingTensor, an_infinite_sum_may_be_overflow_and_is_skipped) {
  for (const char* total : {"sum", "l1", "l2", "prod", "variance", "std"})
    EXPECT_THAT(judge(reduced("w", total, kInf)), ElementsAre(HasSubstr("skips w worker_0: ")))
        << total;
}

TEST(ExplodingTensor, a_nan_total_fires_as_nan_or_inf_minus_inf) {
  for (const char* total : {"mean", "sum", "l1", "l2"})
    EXPECT_THAT(
        judge(reduced("w", total, kNaN)),
        ElementsAre("fires w worker_0 NaN vs 0: " + std::string(total) + " NaN, nan or inf-inf"))
        << total;
}

TEST(ExplodingTensor, with_only_nan_all_totals_must_agree_on_nan) {
  EXPECT_THAT(judge(reduced("w", "mean", kNaN).with("l1", kNaN), kOnlyNaN),
              ElementsAre("fires w worker_0 NaN vs 0: mean NaN, l1 NaN, "
                          "approximate: nan or inf-inf"));
  EXPECT_THAT(judge(reduced("w", "mean", kNaN).with("l1", kInf), kOnlyNaN), IsEmpty());
}

TEST(ExplodingTensor, other_totals_of_nan_leave_it_open) {
  for (const char* total : {"std", "variance", "prod"})
    EXPECT_THAT(judge(reduced("w", total, kNaN)), ElementsAre(HasSubstr("skips w worker_0: ")))
        << total;
}

TEST(ExplodingTensor, the_raw_value_decides_where_nothing_else_was_saved) {
  EXPECT_THAT(judge(raw("w", {1, 2, kInff, kNaNf, -kInff})),
              ElementsAre("fires w worker_0 3 vs 0: nan 1, +inf 1, -inf 1, "
                          "the first at element 2"));
  EXPECT_THAT(judge(raw("w", {1, 2, kInff, kNaNf}), kOnlyNaN),
              ElementsAre("fires w worker_0 1 vs 0: nan 1, +inf 1, -inf 0, "
                          "the first at element 3"));
  EXPECT_THAT(judge(raw("w", {1, 2, 3})), IsEmpty());
}

TEST(ExplodingTensor, the_raw_value_decides_where_a_total_may_have_overflowed) {
  EXPECT_THAT(judge(raw_of<double>("w", {1e308, 1e308}).with("sum", kInf)), IsEmpty());
  EXPECT_THAT(judge(raw("w", {kInff, 1}).with("sum", kInf)),
              ElementsAre("fires w worker_0 1 vs 0: nan 0, +inf 1, -inf 0, "
                          "the first at element 0"));
}

TEST(ExplodingTensor, every_floating_dtype_is_counted) {
  const std::uint16_t half_nan = 0x7e01;
  const std::uint16_t half_infinity = 0xfc00;
  const std::uint16_t brain_infinity = 0x7f80;
  const std::uint16_t brain_nan = 0xffc1;
  EXPECT_THAT(judge(raw_of<Float16>("w", {{half_nan}, {half_infinity}, {0x7bff}})),
              ElementsAre(HasSubstr("nan 1, +inf 0, -inf 1, the first at element 0")));
  EXPECT_THAT(judge(raw_of<BFloat16>("w", {{0x7f7f}, {brain_infinity}, {brain_nan}})),
              ElementsAre(HasSubstr("nan 1, +inf 1, -inf 0, the first at element 1")));
  EXPECT_THAT(judge(raw_of<double>("w", {1e300, kNaN})),
              ElementsAre(HasSubstr("nan 1, +inf 0, -inf 0, the first at element 1")));
}

TEST(ExplodingTensor, opens_no_value_when_the_index_suffices) {
  for (auto& tensor :
       {filled("w", 1000, kNaNf).with(ValueCounts{}), filled("w", 1000, kNaNf).with("mean", 1),
        filled("w", 1000, kNaNf).with("min", 1).with("max", 1)}) {
    OneStep run({tensor});
    run.store->remove(run.writer.events_key());
    EXPECT_THAT(judge(run), IsEmpty());
  }
}

TEST(ExplodingTensor, skips_a_value_that_is_gone) {
  OneStep run({filled("w", 1000, kNaNf)});
  run.store->remove(run.writer.events_key());
  EXPECT_THAT(judge(run), ElementsAre(HasSubstr("skips w worker_0: ")));
}

TEST(ExplodingTensor, integers_booleans_and_text_never_fire) {
  EXPECT_THAT(judge(OneStep({raw_of<std::int64_t>("i", {1 << 20}), raw_of<std::uint8_t>("b", {255}),
                             texts("t", {"nan"})})),
              IsEmpty());
}

TEST(ExplodingTensor, an_empty_tensor_is_healthy) {
  EXPECT_THAT(judge(raw("w", {}).with("min", kNaN).with("max", kNaN)), IsEmpty());
}

TEST(ExplodingTensor, a_scalar_of_nan_fires) {
  EXPECT_THAT(judge(scalar("loss", kNaN)),
              ElementsAre("fires loss worker_0 1 vs 0: nan 1, +inf 0, -inf 0, "
                          "the first at element 0"));
}

TEST(ExplodingTensor, looks_at_all_tensors_of_the_step_by_name) {
  EXPECT_THAT(judge(OneStep({scalar("b", kInf), scalar("a", kNaN), scalar("c", 1)})),
              ElementsAre(HasSubstr("fires a "), HasSubstr("fires b ")));
}

struct Selected : OneStep {
  Selected() : OneStep({scalar("g1", kNaN), scalar("relu", kNaN), scalar("w", kNaN)}) {
    writer.collection("gradients", {"^g"});
  }
};

TEST(ExplodingTensor, looks_at_the_given_collections_only) {
  EXPECT_THAT(judge(Selected(), {{"collection_names", "gradients"}}),
              ElementsAre(HasSubstr("fires g1 ")));
}

TEST(ExplodingTensor, looks_at_names_that_match_the_given_patterns_only) {
  EXPECT_THAT(judge(Selected(), {{"tensor_regex", "elu, ^w$"}}),
              ElementsAre(HasSubstr("fires relu "), HasSubstr("fires w ")));
}

TEST(ExplodingTensor, collections_and_patterns_are_taken_together_each_tensor_once) {
  EXPECT_THAT(judge(Selected(), {{"collection_names", "gradients"}, {"tensor_regex", "relu|g1"}}),
              ElementsAre(HasSubstr("fires g1 "), HasSubstr("fires relu ")));
}

TEST(ExplodingTensor, a_selection_of_nothing_does_not_apply) {
  EXPECT_THAT(
      judge(Selected(), {{"tensor_regex", "zzz"}}),
      ElementsAre("not applicable: nothing of names matching \"zzz\" was saved at this step"));
}

TEST(ExplodingTensor, refuses_a_pattern_that_does_not_compile_and_other_mistakes_at_once) {
  try {
    judge(Selected(), {{"tensor_regex", "("}, {"only_nan", "maybe"}, {"threshold", "1"}});
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("parameter tensor_regex: "));
    EXPECT_THAT(error.what(), HasSubstr("parameter only_nan is \"maybe\""));
    EXPECT_THAT(error.what(), HasSubstr("unknown parameter \"threshold\""));
  }
}

TEST(ExplodingTensor, judges_each_workers_copy_by_itself) {
  MemoryRun run;
  for (const char* name : {"worker_10", "worker_2", "worker_1"}) {
    auto writer = run.worker({.worker = name, .num_workers = 3});
    const bool healthy = std::string_view(name) == "worker_1";
    writer.save(0, {scalar("loss", healthy ? 1 : kNaN)});
  }
  EXPECT_THAT(judge(run),
              ElementsAre(HasSubstr("fires loss worker_2 "), HasSubstr("fires loss worker_10 ")));
}

TEST(ExplodingTensor, explains_what_it_read) {
  EXPECT_EQ(reading(counted({})), "w worker_0: nan, inf (counts)");
  EXPECT_EQ(reading(reduced("w", "min", 1).with("max", 2)), "w worker_0: min, max (saved)");
  EXPECT_EQ(reading(reduced("w", "mean", 1)), "w worker_0: mean (saved)");
  EXPECT_EQ(reading(raw("w", {1})), "w worker_0: nan, inf (from raw)");
  EXPECT_EQ(reading(raw_of<std::int8_t>("w", {1})), "w worker_0: i8 (dtype)");
}

}  // namespace
}  // namespace cupel::testing
