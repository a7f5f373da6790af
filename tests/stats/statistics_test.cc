#include "cupel/stats/statistics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>

#include "stats/reference.h"
#include "stats/simd_targets.h"

namespace cupel {
namespace {

constexpr std::size_t kBlockOfElements = StatisticsAccumulator::kBlockElements;

template <class T>
Statistics statistics_of(const std::vector<T>& values) {
  return compute_statistics(TensorView(values.data(), {values.size()}));
}

template <class T>
void expect_like_plain_loop(const std::vector<T>& values) {
  expect_statistics(statistics_of(values), reference_statistics(values));
}

template <class T>
std::vector<T> constant(std::size_t count, T value) {
  return std::vector<T>(count, value);
}

// --- Accuracy

TEST(Statistics, values_around_zero_are_as_the_plain_loop_says) {
  expect_like_plain_loop(Random(1).uniform<float>(100'000, -1, 1));
  expect_like_plain_loop(Random(1).uniform<double>(100'000, -1, 1));
}

TEST(Statistics, variance_survives_a_mean_a_million_times_the_deviation) {
  expect_like_plain_loop(Random(2).uniform<float>(50'000, 1e3 - 1e-3, 1e3 + 1e-3));
  expect_like_plain_loop(Random(2).uniform<float>(50'000, 1e6 - 1, 1e6 + 1));
  expect_like_plain_loop(Random(2).uniform<float>(50'000, -1e6 - 1, -1e6 + 1));
  expect_like_plain_loop(Random(2).uniform<double>(50'000, 1e6 - 1e-2, 1e6 + 1e-2));
  expect_like_plain_loop(Random(2).uniform<std::int32_t>(50'000, 2e9, 2e9 + 100));
}

TEST(Statistics, abs_variance_survives_magnitudes_that_are_almost_equal) {
  std::vector<float> values = Random(3).uniform<float>(50'000, 1e3 - 1e-3, 1e3 + 1e-3);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = -values[i];
  expect_like_plain_loop(values);
  expect_like_plain_loop(std::vector<double>(values.begin(), values.end()));
}

TEST(Statistics, variance_survives_when_blocks_differ_and_are_each_almost_constant) {
  std::vector<float> values;
  for (int block = 0; block < 20; ++block)
    for (std::size_t i = 0; i < kBlockOfElements; ++i)
      values.push_back(static_cast<float>(block) + (i % 2 == 0 ? 1e-5F : 0.0F));
  expect_like_plain_loop(values);
}

TEST(Statistics, variance_of_doubles_one_rounding_apart_is_not_lost_in_the_mean) {
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) values.push_back(i % 2 == 0 ? 1.0 : 1.0 + 0x1p-52);
  EXPECT_EQ(statistics_of(values).variance, 0x1p-106);
}

TEST(Statistics, variance_of_a_constant_is_exactly_zero) {
  for (const std::size_t count : {1U, 2U, 3U, 15U, 17U, 1000U, 1023U, 1025U, 12'345U}) {
    for (const float value : {0.1F, -3e38F, 1e-45F, 1e6F})
      EXPECT_EQ(statistics_of(constant(count, value)).variance, 0) << value << " * " << count;
    for (const double value : {0.1, -1.7e308, 1e-310, 1e200, 1e6})
      EXPECT_EQ(statistics_of(constant(count, value)).variance, 0) << value << " * " << count;
    EXPECT_EQ(statistics_of(constant(count, std::int64_t{1} << 60)).variance, 0) << count;
  }
}

TEST(Statistics, abs_variance_of_a_constant_with_alternating_sign_is_exactly_zero) {
  std::vector<double> values = constant(5001, 0.1);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -values[i];
  EXPECT_EQ(statistics_of(values).abs_variance, 0);
  EXPECT_EQ(statistics_of(std::vector<float>(values.begin(), values.end())).abs_variance, 0);
}

TEST(Statistics, mean_of_a_constant_is_the_constant) {
  for (const std::size_t count : {1U, 7U, 1000U, 99'999U}) {
    EXPECT_EQ(statistics_of(constant(count, 0.1)).mean, 0.1);
    EXPECT_EQ(statistics_of(constant(count, -0.1)).abs_mean, 0.1);
  }
}

TEST(Statistics, variance_is_never_negative) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    const double center =
        std::ldexp(random.uniform(-1, 1), static_cast<int>(random.bits() % 80) - 40);
    const std::size_t count = 1 + random.bits() % 50;
    std::vector<double> values(count, center);
    for (double& value : values) value *= 1 + 0x1p-52 * static_cast<double>(random.bits() % 3);
    const Statistics statistics = statistics_of(values);
    EXPECT_GE(statistics.variance, 0);
    EXPECT_GE(statistics.abs_variance, 0);
  }
}

TEST(Statistics, an_outlier_of_1e30_among_ones_does_not_drown_the_rest) {
  std::vector<float> values = constant(10'000, 1.0F);
  values[5'432] = 1e30F;
  expect_like_plain_loop(values);
  EXPECT_EQ(statistics_of(values).abs_min, 1);
}

TEST(Statistics, a_sum_that_cancels_keeps_its_small_terms) {
  for (const double large : {1e16, 1e25}) {
    std::vector<double> values = constant(4 * kBlockOfElements, 0.0);
    values[0] = 1;
    values[kBlockOfElements] = large;
    values[2 * kBlockOfElements] = 1;
    values[3 * kBlockOfElements] = -large;
    EXPECT_EQ(statistics_of(values).sum, 2);
  }
}

TEST(Statistics, l2_neither_overflows_nor_vanishes) {
  EXPECT_DOUBLE_EQ(statistics_of(constant(4, 1e30F)).l2, 2.0 * static_cast<double>(1e30F));
  EXPECT_DOUBLE_EQ(statistics_of(constant(4, 1e-30F)).l2, 2.0 * static_cast<double>(1e-30F));
  EXPECT_DOUBLE_EQ(statistics_of(constant(4, 1e-45F)).l2, 2.0 * static_cast<double>(1e-45F));
  EXPECT_DOUBLE_EQ(statistics_of(constant(4, 1e300)).l2, 2e300);
  EXPECT_DOUBLE_EQ(statistics_of(constant(4, -1e-300)).l2, 2e-300);
  EXPECT_DOUBLE_EQ(statistics_of(constant(4, 5e-324)).l2, 1e-323);
  EXPECT_NEAR(statistics_of(constant(10'000, 1e306)).l2 / 1e308, 1, 1e-13);
}

TEST(Statistics, blocks_of_all_magnitudes_are_merged) {
  for (const double large : {1e-300, 0x1p-451, 0x1p-449, 1e-130, 1.0, 1e130, 0x1p481, 1e300})
    for (const double ratio : {1.0, 0.25, 1e-3, 1e-10, 1e-160, 0.0}) {
      const double small = large * ratio;
      std::vector<double> values = constant(kBlockOfElements, small);
      values.resize(2 * kBlockOfElements, 3 * large);
      for (int turn = 0; turn < 2; ++turn) {
        SCOPED_TRACE(::testing::Message() << large << " " << ratio);
        const Statistics statistics = statistics_of(values);
        const double count = static_cast<double>(kBlockOfElements);
        EXPECT_NEAR(statistics.l2 / (std::sqrt(count) * std::hypot(small, 3 * large)), 1, 1e-14);
        EXPECT_NEAR(statistics.l1 / (count * (small + 3 * large)), 1, 1e-14);
        EXPECT_NEAR(statistics.mean / (0.5 * small + 1.5 * large), 1, 1e-14);
        std::ranges::reverse(values);
      }
    }
}

TEST(Statistics, sums_overflow_only_if_the_result_does) {
  std::vector<double> values = constant(3 * kBlockOfElements, 1e308);
  EXPECT_EQ(statistics_of(values).sum, kInfinity);
  EXPECT_EQ(statistics_of(values).mean, 1e308);
  EXPECT_EQ(statistics_of(values).l2, kInfinity);
  for (std::size_t i = 1; i < values.size(); i += 2) values[i] = -1e308;
  EXPECT_EQ(statistics_of(values).sum, 0);
  EXPECT_EQ(statistics_of(values).mean, 0);
  EXPECT_EQ(statistics_of(values).abs_mean, 1e308);
  EXPECT_EQ(statistics_of(values).variance, kInfinity);
  EXPECT_EQ(statistics_of(values).abs_variance, 0);
}

TEST(Statistics, a_variance_beyond_double_is_infinite) {
  std::vector<double> values = constant(5 * kBlockOfElements, 1.7e308);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i / kBlockOfElements % 2 == 1) values[i] = -1.7e308;
  EXPECT_EQ(statistics_of(values).variance, kInfinity);
  EXPECT_EQ(statistics_of(values).abs_variance, 0);
  EXPECT_EQ(statistics_of(values).sum, kInfinity);
}

TEST(Statistics, subnormal_values_are_not_lost) {
  expect_like_plain_loop(Random(5).uniform<float>(5000, -1e-40, 1e-40));
  const Statistics statistics = statistics_of(Random(5).uniform<double>(5000, 1e-310, 2e-310));
  const Statistics expected = reference_statistics(Random(5).uniform<double>(5000, 1e-310, 2e-310));
  EXPECT_NEAR(statistics.sum / expected.sum, 1, 1e-12);
  EXPECT_NEAR(statistics.l2 / expected.l2, 1, 1e-12);
  EXPECT_EQ(statistics.counts.zero, 0);
}

// --- Lengths and addresses

TEST(Statistics, every_length_up_to_two_blocks_is_right) {
  const std::vector<float> all = Random(6).uniform<float>(2 * kBlockOfElements + 17, -1, 3);
  for (std::size_t count = 0; count <= all.size(); ++count) {
    const std::vector<float> values(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    ASSERT_NO_FATAL_FAILURE(expect_like_plain_loop(values)) << count;
    ASSERT_FALSE(::testing::Test::HasFailure()) << count << " elements";
  }
}

TEST(Statistics, every_short_length_of_doubles_is_right) {
  const std::vector<double> all = Random(6).uniform<double>(kBlockOfElements + 17, -1, 3);
  for (std::size_t count = 0; count <= all.size(); count += count < 70 ? 1 : 53) {
    const std::vector<double> values(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    expect_like_plain_loop(values);
    ASSERT_FALSE(::testing::Test::HasFailure()) << count << " elements";
  }
}

template <class T>
class StatisticsOf : public ::testing::Test {};

using AllTypes =
    ::testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                     std::uint16_t, std::uint32_t, std::uint64_t, Float16, BFloat16, float, double>;
TYPED_TEST_SUITE(StatisticsOf, AllTypes);

/// Elements with any bits that make a finite value.
template <class T>
std::vector<T> any_values(std::size_t count) {
  Random random(7);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      values[i] = random.bits() % 3 == 0;
    } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      values[i].bits = static_cast<std::uint16_t>(random.bits() & 0xbbffU);
    } else if constexpr (std::is_floating_point_v<T>) {
      values[i] = static_cast<T>(random.uniform(-1e3, 1e4));
    } else {
      values[i] = static_cast<T>(random.bits());
    }
  }
  return values;
}

template <class T>
long double exact_value(T element) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return static_cast<long double>(static_cast<float>(element));
  else
    return static_cast<long double>(element);
}

template <class T>
Statistics reference_of_elements(const std::vector<T>& elements) {
  std::vector<long double> values;
  for (const T element : elements) values.push_back(exact_value<T>(element));
  return reference_statistics(std::span<const long double>(values));
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& elements) {
  std::vector<std::byte> bytes(elements.size() * sizeof(T));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T element = elements[i];
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

TYPED_TEST(StatisticsOf, this_type_is_as_the_plain_loop_says) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{19}, 3 * kBlockOfElements + 5}) {
    const auto elements = any_values<TypeParam>(count);
    const auto bytes = bytes_of(elements);
    expect_statistics(compute_statistics(TensorView(bytes.data(), kDTypeOf<TypeParam>, {count})),
                      reference_of_elements(elements));
  }
}

TYPED_TEST(StatisticsOf, this_type_has_the_same_statistics_at_every_address) {
  const auto elements = any_values<TypeParam>(kBlockOfElements + 37);
  const auto bytes = bytes_of(elements);
  const TensorView aligned(bytes.data(), kDTypeOf<TypeParam>, {elements.size()});
  const std::string expected = exact_text(compute_statistics(aligned));
  for (std::size_t offset = 0; offset < 64; ++offset) {
    std::vector<std::byte> buffer(bytes.size() + 64);
    std::memcpy(buffer.data() + offset, bytes.data(), bytes.size());
    const TensorView view(buffer.data() + offset, kDTypeOf<TypeParam>, {elements.size()});
    EXPECT_EQ(exact_text(compute_statistics(view)), expected) << "offset " << offset;
  }
}

TYPED_TEST(StatisticsOf, only_this_type_if_floating_counts_zeros) {
  const std::vector<std::byte> zeros(100 * sizeof(TypeParam));
  const Statistics statistics =
      compute_statistics(TensorView(zeros.data(), kDTypeOf<TypeParam>, {100}));
  EXPECT_EQ(statistics.counts.zero, is_floating(kDTypeOf<TypeParam>) ? 100 : 0);
  EXPECT_EQ(statistics.sum, 0);
  EXPECT_EQ(statistics.l2, 0);
}

TEST(Statistics, halves_convert_as_in_core) {
  for_each_simd_target([](const std::string& target) {
    SCOPED_TRACE(target);
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const std::vector half{Float16{static_cast<std::uint16_t>(bits)}};
      const std::vector brain{BFloat16{static_cast<std::uint16_t>(bits)}};
      const auto half_value = static_cast<double>(static_cast<float>(half[0]));
      const auto brain_value = static_cast<double>(static_cast<float>(brain[0]));
      ASSERT_TRUE(is_near(statistics_of(half).max, half_value, 0)) << bits;
      ASSERT_TRUE(is_near(statistics_of(brain).max, brain_value, 0)) << bits;
    }
  });
}

TEST(Statistics, any_byte_but_zero_of_a_bool_is_one) {
  const std::vector<std::uint8_t> bytes{0, 1, 2, 255, 0};
  EXPECT_EQ(compute_statistics(TensorView(bytes.data(), DType::Bool, {5})).sum, 3);
}

// --- Special values

/// One special value among ordinary ones, at every place of an array of more than one row.
template <class T>
void for_every_place_of(T special, const std::function<void(const Statistics&)>& check) {
  for (std::size_t place = 0; place < 37; ++place) {
    std::vector<T> values = Random(8).uniform<T>(37, 1, 2);
    values[place] = special;
    SCOPED_TRACE(place);
    check(statistics_of(values));
  }
}

void expect_counts(const Statistics& statistics, const ValueCounts& counts) {
  EXPECT_EQ(statistics.counts.nan, counts.nan);
  EXPECT_EQ(statistics.counts.pos_inf, counts.pos_inf);
  EXPECT_EQ(statistics.counts.neg_inf, counts.neg_inf);
  EXPECT_EQ(statistics.counts.zero, counts.zero);
}

void expect_all_nan(const Statistics& statistics) {
  for (std::size_t i = 0; i < Reduction::kCount; ++i)
    EXPECT_TRUE(std::isnan(statistics.get(Reduction::at(i)))) << to_string(Reduction::at(i));
}

template <class T>
void expect_that_nan_propagates(T nan) {
  for_every_place_of<T>(nan, [](const Statistics& statistics) {
    expect_counts(statistics, {.nan = 1});
    expect_all_nan(statistics);
  });
}

TEST(Statistics, nan_is_counted_and_propagates) {
  expect_that_nan_propagates(std::numeric_limits<float>::quiet_NaN());
  expect_that_nan_propagates(-std::numeric_limits<float>::quiet_NaN());
  expect_that_nan_propagates(std::bit_cast<float>(0x7f800001U));
  expect_that_nan_propagates(std::bit_cast<float>(0xffffffffU));
  expect_that_nan_propagates(kNaN);
  expect_that_nan_propagates(-kNaN);
}

template <class T>
void expect_ieee_results_of_an_infinity(T infinity) {
  for_every_place_of<T>(infinity, [infinity](const Statistics& statistics) {
    const auto value = static_cast<double>(infinity);
    expect_counts(statistics, {.pos_inf = infinity > 0 ? 1 : 0, .neg_inf = infinity < 0 ? 1 : 0});
    EXPECT_EQ(infinity > 0 ? statistics.max : statistics.min, value);
    EXPECT_TRUE(std::isfinite(infinity > 0 ? statistics.min : statistics.max));
    EXPECT_EQ(statistics.sum, value);
    EXPECT_EQ(statistics.mean, value);
    EXPECT_EQ(statistics.l1, kInfinity);
    EXPECT_EQ(statistics.l2, kInfinity);
    EXPECT_EQ(statistics.abs_max, kInfinity);
    EXPECT_GE(statistics.abs_min, 1);
    EXPECT_EQ(statistics.abs_mean, kInfinity);
    EXPECT_TRUE(std::isnan(statistics.variance));
    EXPECT_TRUE(std::isnan(statistics.abs_variance));
  });
}

TEST(Statistics, an_infinity_is_counted_and_has_ieee_results) {
  expect_ieee_results_of_an_infinity(std::numeric_limits<float>::infinity());
  expect_ieee_results_of_an_infinity(-std::numeric_limits<float>::infinity());
  expect_ieee_results_of_an_infinity(kInfinity);
  expect_ieee_results_of_an_infinity(-kInfinity);
}

TEST(Statistics, extremes_of_nothing_but_infinities_are_infinite) {
  for_each_simd_target([](const std::string& target) {
    SCOPED_TRACE(target);
    for (const std::size_t count : {std::size_t{1}, std::size_t{16}, kBlockOfElements + 3})
      for (const double infinity : {kInfinity, -kInfinity}) {
        const Statistics doubles = statistics_of(constant(count, infinity));
        const Statistics floats = statistics_of(constant(count, static_cast<float>(infinity)));
        for (const Statistics& statistics : {doubles, floats}) {
          EXPECT_EQ(statistics.min, infinity);
          EXPECT_EQ(statistics.max, infinity);
          EXPECT_EQ(statistics.abs_min, kInfinity);
          EXPECT_EQ(statistics.abs_max, kInfinity);
        }
      }
  });
}

TEST(Statistics, infinities_of_both_signs_have_no_sum) {
  std::vector<float> values = constant(3 * kBlockOfElements, 1.0F);
  values.front() = std::numeric_limits<float>::infinity();
  values.back() = -std::numeric_limits<float>::infinity();
  const Statistics statistics = statistics_of(values);
  EXPECT_TRUE(std::isnan(statistics.sum));
  EXPECT_TRUE(std::isnan(statistics.mean));
  EXPECT_EQ(statistics.min, -kInfinity);
  EXPECT_EQ(statistics.max, kInfinity);
  EXPECT_EQ(statistics.l2, kInfinity);
}

TEST(Statistics, a_nan_in_one_block_outweighs_everything_in_the_others) {
  std::vector<float> values = constant(4 * kBlockOfElements + 3, 2.0F);
  values[0] = std::numeric_limits<float>::infinity();
  values[kBlockOfElements + 1] = std::numeric_limits<float>::quiet_NaN();
  values[kBlockOfElements + 2] = 0;
  values.back() = -0.0F;
  const Statistics statistics = statistics_of(values);
  expect_counts(statistics, {.nan = 1, .pos_inf = 1, .zero = 2});
  expect_all_nan(statistics);
}

TEST(Statistics, extremes_of_blocks_with_infinities_still_count) {
  std::vector<float> values = constant(2 * kBlockOfElements, 5.0F);
  values[3] = 0.25F;
  values[4] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(statistics_of(values).min, 0.25);
  EXPECT_EQ(statistics_of(values).abs_min, 0.25);
}

TEST(Statistics, all_special_values_are_counted_wherever_they_are) {
  Random random(9);
  std::vector<float> values;
  ValueCounts expected;
  for (std::size_t i = 0; i < 2 * kBlockOfElements + 11; ++i) {
    switch (random.bits() % 6) {
      case 0:
        values.push_back(random.bits() % 2 == 0 ? 0.0F : -0.0F);
        ++expected.zero;
        break;
      case 1:
        values.push_back(std::numeric_limits<float>::infinity());
        ++expected.pos_inf;
        break;
      case 2:
        values.push_back(-std::numeric_limits<float>::infinity());
        ++expected.neg_inf;
        break;
      case 3:
        values.push_back(std::numeric_limits<float>::quiet_NaN());
        ++expected.nan;
        break;
      case 4:
        values.push_back(1e-45F);
        break;
      default:
        values.push_back(-7);
    }
  }
  for_each_simd_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    expect_counts(statistics_of(values), expected);
  });
  expect_counts(statistics_of(std::vector<double>(values.begin(), values.end())), expected);
}

TEST(Statistics, halves_count_special_values) {
  const std::vector<Float16> halves{{0x7c00}, {0xfc00}, {0x7c01}, {0xffff}, {0x8000}, {0}, {1}};
  expect_counts(statistics_of(halves), {.nan = 2, .pos_inf = 1, .neg_inf = 1, .zero = 2});
  const std::vector<BFloat16> brains{{0x7f80}, {0xff80}, {0x7f81}, {0xffff}, {0x8000}, {0}, {1}};
  expect_counts(statistics_of(brains), {.nan = 2, .pos_inf = 1, .neg_inf = 1, .zero = 2});
}

TEST(Statistics, negative_zero_counts_as_zero_and_is_reported_without_sign) {
  const Statistics statistics = statistics_of(constant(100, -0.0F));
  EXPECT_EQ(statistics.counts.zero, 100);
  for (const double value : {statistics.min, statistics.max, statistics.sum, statistics.mean,
                             statistics.abs_min, statistics.abs_max})
    EXPECT_EQ(std::bit_cast<std::uint64_t>(value), 0U);
}

TEST(Statistics, a_mean_that_vanishes_is_reported_without_sign) {
  const Statistics statistics = statistics_of(std::vector<double>{-5e-324, 0, 0});
  EXPECT_EQ(std::bit_cast<std::uint64_t>(statistics.mean), 0U);
}

TEST(Statistics, of_an_empty_tensor_sums_are_zero_and_the_rest_nan) {
  for (const DType dtype : {DType::F32, DType::F64, DType::I8, DType::Bool, DType::F16}) {
    const Statistics statistics = compute_statistics(TensorView(nullptr, dtype, {3, 0}));
    EXPECT_EQ(exact_text(statistics), exact_text(Statistics{}));
    EXPECT_EQ(statistics.sum, 0);
    EXPECT_EQ(statistics.l1, 0);
    EXPECT_EQ(statistics.l2, 0);
    for (const ReductionOp op : {ReductionOp::Min, ReductionOp::Max, ReductionOp::Mean,
                                 ReductionOp::Std, ReductionOp::Variance}) {
      EXPECT_TRUE(std::isnan(statistics.get({op, false})));
      EXPECT_TRUE(std::isnan(statistics.get({op, true})));
    }
  }
}

// --- Reductions by name

TEST(Statistics, get_yields_every_reduction_but_prod_and_median) {
  const Statistics statistics = statistics_of(std::vector<float>{-3, 1, 2, 4});
  const auto get = [&](ReductionOp op, bool abs = false) { return statistics.get({op, abs}); };
  EXPECT_EQ(get(ReductionOp::Min), -3);
  EXPECT_EQ(get(ReductionOp::Max), 4);
  EXPECT_EQ(get(ReductionOp::Mean), 1);
  EXPECT_EQ(get(ReductionOp::Variance), 6.5);
  EXPECT_EQ(get(ReductionOp::Std), std::sqrt(6.5));
  EXPECT_EQ(get(ReductionOp::Sum), 4);
  EXPECT_EQ(get(ReductionOp::L1), 10);
  EXPECT_EQ(get(ReductionOp::L2), std::sqrt(30.0));
  EXPECT_EQ(get(ReductionOp::Min, true), 1);
  EXPECT_EQ(get(ReductionOp::Max, true), 4);
  EXPECT_EQ(get(ReductionOp::Mean, true), 2.5);
  EXPECT_EQ(get(ReductionOp::Variance, true), 1.25);
  EXPECT_EQ(get(ReductionOp::Std, true), std::sqrt(1.25));
  EXPECT_EQ(get(ReductionOp::Sum, true), 10);
  EXPECT_EQ(get(ReductionOp::L1, true), 10);
  EXPECT_EQ(get(ReductionOp::L2, true), std::sqrt(30.0));
  for (const bool abs : {false, true}) {
    EXPECT_TRUE(std::isnan(get(ReductionOp::Prod, abs)));
    EXPECT_TRUE(std::isnan(get(ReductionOp::Median, abs)));
  }
}

// --- Pieces and strides

template <class T>
Statistics statistics_of_pieces(const std::vector<T>& values, Random& random) {
  StatisticsAccumulator accumulator(kDTypeOf<T>);
  for (std::size_t done = 0; done < values.size();) {
    const std::size_t piece =
        std::min((random.bits() % 4) * kBlockOfElements, values.size() - done);
    accumulator.add(values.data() + done, piece);
    done += piece;
  }
  return accumulator.finish();
}

TEST(StatisticsAccumulator, cuts_between_blocks_change_no_bit) {
  Random random(10);
  const auto floats = random.uniform<float>(13 * kBlockOfElements + 77, -1, 5);
  const auto doubles = random.uniform<double>(13 * kBlockOfElements + 77, -1, 5);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(exact_text(statistics_of_pieces(floats, random)), exact_text(statistics_of(floats)));
    EXPECT_EQ(exact_text(statistics_of_pieces(doubles, random)),
              exact_text(statistics_of(doubles)));
  }
}

TEST(StatisticsAccumulator, finishing_midway_changes_nothing) {
  const auto values = Random(11).uniform<float>(2 * kBlockOfElements, 0, 1);
  StatisticsAccumulator accumulator(DType::F32);
  EXPECT_EQ(exact_text(accumulator.finish()), exact_text(Statistics{}));
  accumulator.add(values.data(), kBlockOfElements);
  expect_statistics(accumulator.finish(), reference_statistics(std::vector<float>(
                                              values.begin(), values.begin() + kBlockOfElements)));
  accumulator.add(nullptr, 0);
  accumulator.add(values.data() + kBlockOfElements, kBlockOfElements);
  EXPECT_EQ(exact_text(accumulator.finish()), exact_text(statistics_of(values)));
}

/// The statistics of a strided view and of its row-major copy.
void expect_same_as_copy(const TensorView& view) {
  std::vector<std::byte> copy(static_cast<std::size_t>(view.elements()) *
                              element_size(view.dtype()));
  view.copy_to(copy.data());
  EXPECT_EQ(exact_text(compute_statistics(view)),
            exact_text(compute_statistics(TensorView(copy.data(), view.dtype(), view.shape()))))
      << to_string(view.shape()) << " strides " << to_string(view.strides());
}

TYPED_TEST(StatisticsOf, this_type_may_be_strided) {
  const auto bytes = bytes_of(any_values<TypeParam>(6000));
  const auto view = [&](std::size_t first, const Shape& shape, const Shape& strides) {
    return TensorView(bytes.data() + first * sizeof(TypeParam), kDTypeOf<TypeParam>, shape,
                      strides);
  };
  expect_same_as_copy(view(0, {60, 100}, {1, 60}));           // transposed
  expect_same_as_copy(view(0, {50, 40}, {100, 1}));           // left part of every row
  expect_same_as_copy(view(5999, {6000}, {-1}));              // reversed
  expect_same_as_copy(view(17, {70, 50}, {0, 1}));            // one row again and again
  expect_same_as_copy(view(1, {2999}, {2}));                  // every second
  expect_same_as_copy(view(99, {60, 1, 100}, {100, 7, -1}));  // mirrored
  expect_same_as_copy(view(42, {40, 30}, {0, 0}));            // one element
  expect_same_as_copy(view(10, {10, 10, 3, 10}, {500, 1, -2, 50}));
}

TEST(Statistics, a_scalar_with_any_strides_is_one_element) {
  const double value = 2.5;
  EXPECT_EQ(compute_statistics(TensorView(&value, {})).sum, 2.5);
  EXPECT_EQ(compute_statistics(TensorView(&value, DType::F64, {1, 1}, {7, -9})).sum, 2.5);
}

// --- Instruction sets

/// Tensors that take every path of the kernels.
std::vector<std::vector<float>> telling_tensors() {
  Random random(12);
  std::vector<std::vector<float>> tensors{
      random.uniform<float>(3 * kBlockOfElements + 1, -1, 1),
      random.uniform<float>(2 * kBlockOfElements + 15, 1e3 - 1e-3, 1e3 + 1e-3),
      random.uniform<float>(kBlockOfElements + 7, 0.9, 1.1),
      random.uniform<float>(33, -1e38, 1e38),
      random.uniform<float>(999, -1e-40, 1e-40),
      constant(2000, 0.1F),
      constant(2000, -0.0F),
      random.uniform<float>(5, 0, 1),
  };
  auto& activations = tensors.emplace_back(random.uniform<float>(2 * kBlockOfElements, -1, 1));
  for (float& value : activations) value = std::max(value, 0.0F);
  auto& infinite = tensors.emplace_back(random.uniform<float>(2 * kBlockOfElements, 1, 2));
  infinite[100] = std::numeric_limits<float>::infinity();
  auto& both = tensors.emplace_back(infinite);
  both[200] = -std::numeric_limits<float>::infinity();
  tensors.emplace_back(infinite)[5] = -std::numeric_limits<float>::quiet_NaN();
  return tensors;
}

TEST(Statistics, are_accurate_on_every_instruction_set) {
  int targets = 0;
  for_each_simd_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    ++targets;
    expect_like_plain_loop(Random(13).uniform<float>(20'011, -1, 1));
    expect_like_plain_loop(Random(13).uniform<float>(20'011, 1e3 - 1e-3, 1e3 + 1e-3));
    const auto all = Random(13).uniform<float>(100, -1, 3);
    for (std::ptrdiff_t count = 0; count < 100; ++count)
      expect_like_plain_loop(std::vector<float>(all.begin(), all.begin() + count));
  });
  EXPECT_GE(targets, 1);
}

template <class T>
void expect_same_bits_on_every_target(const std::vector<T>& values) {
  std::string first, first_target;
  for_each_simd_target([&](const std::string& target) {
    const std::string text = exact_text(statistics_of(values));
    if (first.empty()) {
      first = text;
      first_target = target;
    }
    EXPECT_EQ(text, first) << target << " against " << first_target;
  });
}

TEST(Statistics, are_the_same_to_the_bit_on_every_instruction_set) {
  for (const std::vector<float>& values : telling_tensors()) {
    expect_same_bits_on_every_target(values);
    std::vector<double> doubles(values.begin(), values.end());
    expect_same_bits_on_every_target(doubles);
    for (double& value : doubles) value *= 1.1;
    expect_same_bits_on_every_target(doubles);
    for (double& value : doubles) value *= 1e250;
    expect_same_bits_on_every_target(doubles);
  }
  expect_same_bits_on_every_target(any_values<Float16>(5000));
  expect_same_bits_on_every_target(any_values<BFloat16>(5000));
}

}  // namespace
}  // namespace cupel
