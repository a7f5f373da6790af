#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cupel/core/error.h"
#include "trial/two_runs.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(ValueDifference, a_type_or_a_shape_may_differ) {
  EXPECT_EQ(difference(raw_of<float>("w", {1}), raw_of<double>("w", {1})).kind,
            DifferenceKind::DType);
  const RunDifference shape = difference(raw("w", {1, 2}).shaped({2, 1}), raw("w", {1, 2}));
  EXPECT_EQ(shape.kind, DifferenceKind::Shape);
  EXPECT_EQ(shape.a->shape, Shape({2, 1}));
  EXPECT_EQ(shape.b->shape, Shape({2}));
  EXPECT_EQ(difference(SavedTensor{"w", DType::F32, 4}, SavedTensor{"w", DType::F32, 5}).kind,
            DifferenceKind::Shape);
}

TEST(ValueDifference, exactly_the_same_means_the_same_number) {
  EXPECT_TRUE(same_elements(0.0F, -0.0F));
  EXPECT_TRUE(same_elements(kInf, kInf));
  EXPECT_FALSE(same_elements(kInf, -kInf));
  EXPECT_FALSE(same_elements(1.0F, std::nextafter(1.0F, 2.0F)));
  EXPECT_TRUE(same_elements(kNaN, -kNaN));
  EXPECT_FALSE(same_elements(kNaN, 0.0F));
}

TEST(ValueDifference, a_tolerance_reaches_up_to_its_limit) {
  EXPECT_TRUE(same_elements(1.0, 1.5, {.atol = 0.5}));
  EXPECT_FALSE(same_elements(1.0, std::nextafter(1.5, 2.0), {.atol = 0.5}));
  EXPECT_TRUE(same_elements(8.0, 4.0, {.rtol = 0.5}));
  EXPECT_TRUE(same_elements(4.0, 8.0, {.rtol = 0.5}));
  EXPECT_FALSE(same_elements(8.0, 3.999999999999, {.rtol = 0.5}));
  EXPECT_TRUE(same_elements(8.0, 3.0, {.rtol = 0.5, .atol = 1}));
  EXPECT_TRUE(same_elements(-8.0, -4.0, {.rtol = 0.5}));
}

TEST(ValueDifference, a_tolerance_makes_nothing_infinite_or_nan_the_same) {
  const RunComparisonOptions generous{.rtol = 10, .atol = 1e300};
  EXPECT_FALSE(same_elements<double>(kInf, 1, generous));
  EXPECT_FALSE(same_elements<double>(kInf, -kInf, generous));
  EXPECT_FALSE(same_elements<double>(kNaN, 1, generous));
  EXPECT_TRUE(same_elements<double>(kNaN, kNaN, generous));
  EXPECT_TRUE(same_elements<double>(1e308, -1e308, {.rtol = 10}));
}

TEST(ValueDifference, a_tolerance_that_is_none_is_refused) {
  for (const double bad : {-1e-9, static_cast<double>(kNaN), static_cast<double>(kInf)}) {
    EXPECT_THROW(same_elements(1.0, 1.0, {.rtol = bad}), UsageError);
    EXPECT_THROW(same_elements(1.0, 1.0, {.atol = bad}), UsageError);
  }
}

TEST(ValueDifference, integers_are_exact_whatever_the_tolerance) {
  constexpr std::int64_t kBig = std::int64_t{1} << 60;
  const RunComparisonOptions generous{.rtol = 1, .atol = 1e9};
  EXPECT_FALSE(same_elements(kBig, kBig + 1, generous));
  const RunDifference one =
      difference(raw_of<std::int64_t>("n", {kBig}), raw_of<std::int64_t>("n", {kBig + 1}));
  expect_number(one.a->value, kBig);
  expect_number(one.b->value, kBig + 1);
  EXPECT_EQ(one.difference, 1);
}

TEST(ValueDifference, bools_are_true_or_false) {
  const auto bools = [](std::initializer_list<std::uint8_t> bytes) {
    SavedTensor tensor = raw_of<std::uint8_t>("b", bytes);
    tensor.dtype = DType::Bool;
    return tensor;
  };
  const RunDifference one = difference(bools({1, 0}), bools({1, 1}), {.atol = 2});
  EXPECT_THAT(one.index, ElementsAre(1));
  expect_number(one.a->value, false);
  expect_number(one.b->value, true);
  EXPECT_EQ(one.difference, std::nullopt);
}

TEST(ValueDifference, integers_at_both_ends_are_apart_as_far_as_they_are) {
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(difference(raw_of<std::int64_t>("n", {Limits::min()}),
                       raw_of<std::int64_t>("n", {Limits::max()}))
                .difference,
            std::ldexp(1.0, 64));
  const RunDifference bytes =
      difference(raw_of<std::int8_t>("n", {-128}), raw_of<std::int8_t>("n", {127}));
  EXPECT_EQ(bytes.difference, 255);
  expect_number(bytes.a->value, std::int64_t{-128});
  const RunDifference natural =
      difference(raw_of<std::uint64_t>("n", {~0ULL}), raw_of<std::uint64_t>("n", {1}));
  expect_number(natural.a->value, std::uint64_t{~0ULL});
}

TEST(ValueDifference, half_precision_is_compared_by_value) {
  const Float16 one{0x3c00}, next{0x3c01}, zero{0}, minus_zero{0x8000};
  EXPECT_FALSE(same_elements(one, next));
  EXPECT_TRUE(same_elements(one, next, {.atol = 1.0 / 1024}));
  EXPECT_FALSE(same_elements(one, next, {.atol = 1.0 / 1025}));
  EXPECT_TRUE(same_elements(zero, minus_zero));
  EXPECT_TRUE(same_elements(BFloat16{0x3f80}, BFloat16{0x3f81}, {.atol = 1.0 / 128}));
  expect_number(difference(raw_of<Float16>("h", {one}), raw_of<Float16>("h", {next})).b->value,
                1 + 1.0 / 1024);
}

TEST(ValueDifference, a_nan_has_no_distance) {
  const RunDifference one = difference(raw("w", {1, kNaN, 3}), raw("w", {1, 2, 7}));
  EXPECT_THAT(one.index, ElementsAre(1));
  EXPECT_EQ(one.difference, std::nullopt);
  EXPECT_EQ(one.greatest_difference, 4);
  EXPECT_EQ(difference(raw("w", {kNaN}), raw("w", {2})).greatest_difference, std::nullopt);
}

TEST(ValueDifference, texts_are_compared_one_by_one) {
  const RunDifference one =
      difference(texts("t", {"same", "longer", "x"}), texts("t", {"same", "long", "erx"}));
  EXPECT_EQ(one.kind, DifferenceKind::Element);
  EXPECT_THAT(one.index, ElementsAre(1));
  EXPECT_EQ(one.differing, 2);
  EXPECT_EQ(one.difference, std::nullopt);
  expect_number(one.a->value, std::string("longer"));
  expect_number(one.b->value, std::string("long"));
  EXPECT_TRUE(same(texts("t", {"a", ""}), texts("t", {"a", ""})));
}

TEST(ValueDifference, empty_tensors_agree) {
  const RunComparison found = compare(raw("w", {}), raw("w", {}));
  EXPECT_TRUE(found.same());
  EXPECT_EQ(found.agreements.values, 1);
  EXPECT_EQ(difference(raw("w", {}).shaped({0, 3}), raw("w", {}).shaped({3, 0})).kind,
            DifferenceKind::Shape);
}

TEST(ValueDifference, without_raw_values_reductions_are_compared) {
  const RunDifference one = difference(reduced("w", "mean", 1).with("max", 2).with("min", 0),
                                       reduced("w", "mean", 1.5).with("max", 4).with("min", 0));
  EXPECT_EQ(one.kind, DifferenceKind::Reduction);
  EXPECT_EQ(one.statistic, "max");
  expect_number(one.a->value, 2.0);
  expect_number(one.b->value, 4.0);
  EXPECT_EQ(one.compared, 3);
  EXPECT_EQ(one.differing, 2);
  EXPECT_EQ(one.greatest_difference, 2);
  EXPECT_TRUE(same(reduced("w", "mean", 1), reduced("w", "mean", 1.5), {.atol = 0.5}));
  EXPECT_TRUE(same(reduced("w", "mean", kNaN), reduced("w", "mean", -kNaN)));
}

TEST(ValueDifference, counts_are_told_before_reductions) {
  const ValueCounts none{}, one_nan{.nan = 1};
  const RunDifference one =
      difference(reduced("w", "mean", 1).with(none), reduced("w", "mean", kNaN).with(one_nan));
  EXPECT_EQ(one.kind, DifferenceKind::Count);
  EXPECT_EQ(one.statistic, "nan");
  expect_number(one.b->value, std::int64_t{1});
  EXPECT_EQ(one.compared, 4);
}

TEST(ValueDifference, zeros_are_counted_only_without_a_tolerance) {
  const auto tensor = [](std::int64_t zeros, std::int64_t nans) {
    return reduced("w", "mean", 1).with(ValueCounts{.nan = nans, .zero = zeros});
  };
  EXPECT_FALSE(same(tensor(1, 0), tensor(2, 0)));
  EXPECT_TRUE(same(tensor(1, 0), tensor(2, 0), {.atol = 1e-9}));
  EXPECT_FALSE(same(tensor(1, 0), tensor(1, 1), {.atol = 1e9}));
}

TEST(ValueDifference, raw_values_stand_above_reductions) {
  EXPECT_TRUE(same(raw("w", {1, 2}).with("mean", 1.5), raw("w", {1, 2}).with("mean", 1.25)));
  EXPECT_FALSE(same(raw("w", {1, 2}).with("mean", 1), raw("w", {1, 3}).with("mean", 1)));
}

TEST(ValueDifference, what_one_run_did_not_save_is_no_difference) {
  const RunComparison found = compare(raw("w", {1, 2, 3, 4}).with("mean", 2.5).with("max", 4),
                                      reduced("w", "mean", 2.5).with("min", 1));
  EXPECT_TRUE(found.same());
  EXPECT_FALSE(found.nothing_compared());
  EXPECT_EQ(found.agreements.statistics, 1);
  EXPECT_EQ(found.values_only_in_a, 1);
  EXPECT_EQ(found.values_only_in_b, 0);
  EXPECT_EQ(found.reductions_only_in_a, 1);
  EXPECT_EQ(found.reductions_only_in_b, 1);
}

TEST(ValueDifference, it_is_told_when_nothing_could_be_compared) {
  EXPECT_TRUE(compare(raw("w", {1, 2, 3, 4}), reduced("w", "mean", 2.5)).nothing_compared());
  EXPECT_TRUE(compare(raw("w", {1}), raw("w", {1}), {.patterns = "v"}).nothing_compared());
  const RunComparison shapes = compare(only_shape("w", {2}), only_shape("w", {2}));
  EXPECT_FALSE(shapes.nothing_compared());
  EXPECT_EQ(shapes.agreements.shapes, 1);
}

}  // namespace
}  // namespace cupel::testing
