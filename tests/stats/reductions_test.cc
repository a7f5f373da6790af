#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "cupel/stats/statistics.h"
#include "stats/reference.h"
#include "stats/simd_targets.h"

namespace cupel {
namespace {

constexpr Reduction kProd{ReductionOp::Prod};
constexpr Reduction kAbsProd{ReductionOp::Prod, true};
constexpr Reduction kMedian{ReductionOp::Median};
constexpr Reduction kAbsMedian{ReductionOp::Median, true};

double reduce(const TensorView& view, Reduction reduction, const Statistics* known = nullptr) {
  ReductionSet wanted;
  wanted.add(reduction);
  const ReductionValues values = compute_reductions(view, wanted, known);
  EXPECT_EQ(values.set, wanted);
  return values.get(reduction).value();
}

template <class T>
double reduce(const std::vector<T>& values, Reduction reduction) {
  return reduce(TensorView(values.data(), {values.size()}), reduction);
}

ReductionSet all_reductions() {
  ReductionSet set;
  for (std::size_t i = 0; i < Reduction::kCount; ++i) set.add(Reduction::at(i));
  return set;
}

TEST(Reductions, all_twenty_of_a_small_tensor) {
  const std::vector<float> values{-3, 1, 2, 4};
  const ReductionValues reductions =
      compute_reductions(TensorView(values.data(), {2, 2}), all_reductions());
  const std::array<double, Reduction::kCount> expected = {
      -3, 4, 1,   std::sqrt(6.5),  6.5,  4,  -24, 1.5, 10, std::sqrt(30.0),
      1,  4, 2.5, std::sqrt(1.25), 1.25, 10, 24,  2.5, 10, std::sqrt(30.0)};
  EXPECT_EQ(reductions.set, all_reductions());
  for (std::size_t i = 0; i < Reduction::kCount; ++i)
    EXPECT_EQ(reductions.values[i], expected[i]) << to_string(Reduction::at(i));
}

TEST(Reductions, of_an_empty_tensor_have_the_neutral_value_or_none) {
  const ReductionValues reductions =
      compute_reductions(TensorView(nullptr, DType::F32, {0}), all_reductions());
  all_reductions().for_each([&](Reduction reduction) {
    const double value = reductions.get(reduction).value();
    switch (reduction.op) {
      case ReductionOp::Sum:
      case ReductionOp::L1:
      case ReductionOp::L2:
        EXPECT_EQ(value, 0) << to_string(reduction);
        break;
      case ReductionOp::Prod:
        EXPECT_EQ(value, 1) << to_string(reduction);
        break;
      default:
        EXPECT_TRUE(std::isnan(value)) << to_string(reduction);
    }
  });
}

TEST(Reductions, a_nan_makes_every_one_nan) {
  std::vector<float> values = Random(1).uniform<float>(6000, 1, 2);
  values[4321] = std::numeric_limits<float>::quiet_NaN();
  const ReductionValues reductions =
      compute_reductions(TensorView(values.data(), {6000}), all_reductions());
  all_reductions().for_each([&](Reduction reduction) {
    EXPECT_TRUE(std::isnan(reductions.get(reduction).value())) << to_string(reduction);
  });
}

TEST(Reductions, only_the_wanted_ones_are_there) {
  const float value = 1;
  EXPECT_EQ(compute_reductions(TensorView(&value, {}), {}).set, ReductionSet());
  reduce(TensorView(&value, {}), kMedian);
  reduce(TensorView(&value, {}), {ReductionOp::L2});
}

TEST(Reductions, known_statistics_are_not_computed_again) {
  const std::vector<float> values{1, 2, 3};
  Statistics known = compute_statistics(TensorView(values.data(), {3}));
  known.mean = 42;
  EXPECT_EQ(reduce(TensorView(values.data(), {3}), {ReductionOp::Mean}, &known), 42);
  EXPECT_EQ(reduce(TensorView(values.data(), {3}), kMedian, &known), 2);
  EXPECT_EQ(reduce(TensorView(values.data(), {3}), kProd, &known), 6);
}

// --- Products

template <class T>
void expect_product(const std::vector<T>& values, double expected) {
  EXPECT_TRUE(is_near(reduce(values, kProd), expected, std::abs(expected) * 1e-12))
      << reduce(values, kProd) << " is not " << expected;
  EXPECT_TRUE(is_near(reduce(values, kAbsProd), std::abs(reduce(values, kProd)), 0));
}

template <class T>
void expect_product_like_plain_loop(const std::vector<T>& values) {
  long double product = 1;
  for (const T value : values) product *= static_cast<long double>(value);
  expect_product(values, static_cast<double>(product));
}

TEST(Product, every_length_is_as_the_plain_loop_says) {
  const std::vector<float> all = Random(2).uniform<float>(300, -3, 3);
  for (std::ptrdiff_t count = 0; count <= 300; ++count) {
    expect_product_like_plain_loop(std::vector<float>(all.begin(), all.begin() + count));
    expect_product_like_plain_loop(std::vector<double>(all.begin(), all.begin() + count));
  }
}

TEST(Product, of_many_blocks_is_as_the_plain_loop_says) {
  expect_product_like_plain_loop(Random(3).uniform<float>(10'000, 0.9, 1.1));
  expect_product_like_plain_loop(Random(3).uniform<double>(10'000, -1.1, -0.9));
  expect_product_like_plain_loop(std::vector<std::uint8_t>(50, 3));
  expect_product_like_plain_loop(std::vector<std::int64_t>(21, -9));
}

TEST(Product, does_not_overflow_on_the_way) {
  for (const bool alternating : {false, true}) {
    std::vector<float> floats(3000, 1e30F);
    std::vector<double> doubles(3000, 1e300);
    for (std::size_t i = 0; i < 3000; ++i) {
      if (alternating ? i % 2 == 0 : i < 1500) {
        floats[i] = 1 / 1e30F;
        doubles[i] = 1 / 1e300;
      }
    }
    EXPECT_NEAR(reduce(floats, kProd), 1, 1e-3);
    EXPECT_NEAR(reduce(doubles, kProd), 1, 1e-12);
  }
}

TEST(Product, overflows_and_vanishes_where_the_result_does) {
  expect_product(std::vector<float>(1000, 1e30F), kInfinity);
  expect_product(std::vector<float>(1001, -1e30F), -kInfinity);
  expect_product(std::vector<float>(1000, 1e-30F), 0);
  expect_product(std::vector<double>(1'000'000, 1e-300), 0);
  expect_product(std::vector<double>{1e-300, 1e-20}, 1e-320);
}

TEST(Product, of_subnormal_elements_is_right) {
  expect_product(std::vector<float>{1e-45F, 0x1p100F}, 0x1p-49);
  expect_product(std::vector<float>(6 * 16, 0x1p-149F), 0);
  std::vector<double> doubles(17, 1.0);
  doubles[0] = 1.5;
  doubles[1] = 0x1p1000;
  doubles[16] = 0x1p-1074;  // in the lane of the first
  expect_product(doubles, 1.5 * 0x1p-74);
  std::vector<float> values(2 * 160, 0x1p-149F);
  std::fill(values.begin() + 160, values.end(), 0x1p127F);
  expect_product(values, 0);
  for (std::size_t i = 0; i < 149 - 127; ++i) values.insert(values.end(), 160, 2.0F);
  expect_product(values, 1);
}

TEST(Product, of_special_values_is_ieee) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (std::size_t place = 0; place < 37; ++place) {
    std::vector<float> values(37, 2.0F);
    values[place] = kInf;
    expect_product(values, kInfinity);
    values[place] = -kInf;
    expect_product(values, -kInfinity);
    values[place] = 0;
    expect_product(values, 0);
    values[(place + 5) % 37] = kInf;
    expect_product(values, kNaN);
    values[place] = std::numeric_limits<float>::quiet_NaN();
    expect_product(values, kNaN);
    expect_product(std::vector<double>(values.begin(), values.end()), kNaN);
  }
}

TEST(Product, is_the_same_to_the_bit_on_every_instruction_set) {
  const auto tensors = {Random(4).uniform<float>(5000, -1.8, 1.8),
                        Random(4).uniform<float>(7, 1, 9),
                        Random(4).uniform<float>(997, 1e-40, 2e-40)};
  for (const std::vector<float>& values : tensors) {
    std::vector<std::uint64_t> results;
    for_each_simd_target([&](const std::string&) {
      results.push_back(std::bit_cast<std::uint64_t>(reduce(values, kProd)));
    });
    EXPECT_EQ(results, std::vector<std::uint64_t>(results.size(), results.front()));
  }
}

TEST(Product, of_a_strided_view_is_that_of_its_elements) {
  const std::vector<float> values = Random(5).uniform<float>(4000, -1.5, 1.5);
  std::vector<float> second;
  for (std::size_t i = 1; i < 4000; i += 2) second.push_back(values[i]);
  const TensorView strided(values.data() + 1, DType::F32, {2000}, {2});
  EXPECT_EQ(reduce(strided, kProd), reduce(second, kProd));
}

// --- Medians

template <class T>
void expect_median_as_sorted(const std::vector<T>& values) {
  EXPECT_EQ(reduce(values, kMedian), sorted_median(values, false)) << values.size();
  EXPECT_EQ(reduce(values, kAbsMedian), sorted_median(values, true)) << values.size();
}

TEST(Median, every_short_length_is_exact) {
  const std::vector<float> all = Random(6).uniform<float>(300, -1, 2);
  for (std::ptrdiff_t count = 1; count <= 300; ++count)
    expect_median_as_sorted(std::vector<float>(all.begin(), all.begin() + count));
}

TEST(Median, of_many_floats_is_exact) {
  for (const std::size_t count : {4096U, 4097U, 5000U, 99'999U, 100'000U, 300'001U}) {
    expect_median_as_sorted(Random(7).uniform<float>(count, -1, 1));
    expect_median_as_sorted(Random(7).uniform<float>(count, 1, 1.001));
    expect_median_as_sorted(Random(7).uniform<float>(count, -1e-40, 1e-40));
    expect_median_as_sorted(Random(7).uniform<double>(count, -5, 9));
    expect_median_as_sorted(Random(7).uniform<double>(count, 1, 1 + 1e-14));
  }
}

TEST(Median, of_equal_elements_is_the_element) {
  std::vector<float> values(20'001, 0.1F);
  expect_median_as_sorted(values);
  values.back() = 5;
  expect_median_as_sorted(values);
  values.front() = -5;
  expect_median_as_sorted(values);
}

TEST(Median, of_activations_with_half_zeros_is_exact) {
  for (const std::size_t count : {30'000U, 30'001U}) {
    std::vector<float> values = Random(8).uniform<float>(count, -1, 1);
    for (float& value : values) value = std::max(value, 0.0F);
    expect_median_as_sorted(values);
  }
}

TEST(Median, the_two_middle_elements_may_be_far_apart) {
  std::vector<float> values(20'000, -3);
  std::fill(values.begin() + 10'000, values.end(), 1e6F);
  expect_median_as_sorted(values);
  std::vector<float> spread = Random(9).uniform<float>(20'000, -2, -1);
  for (std::size_t i = 0; i < 10'000; ++i) spread[2 * i] = -1000 * spread[2 * i];
  expect_median_as_sorted(spread);
}

TEST(Median, mean_of_two_huge_elements_does_not_overflow) {
  EXPECT_EQ(reduce(std::vector<double>{1e308, 1.5e308}, kMedian), 1.25e308);
}

template <class T>
class MedianOfType : public ::testing::Test {};
using OtherTypes =
    ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                     std::uint16_t, std::uint32_t, std::uint64_t, double>;
TYPED_TEST_SUITE(MedianOfType, OtherTypes);

TYPED_TEST(MedianOfType, is_exact) {
  using Limits = std::numeric_limits<TypeParam>;
  Random random(10);
  for (const std::size_t count : {7U, 8U, 20'000U, 20'001U}) {
    std::vector<TypeParam> values(count);
    for (TypeParam& value : values) value = static_cast<TypeParam>(random.bits() >> 1U);
    values[count / 2] = Limits::lowest();
    values[count / 3] = Limits::max();
    expect_median_as_sorted(values);
    for (TypeParam& value : values) value = static_cast<TypeParam>(value / 4 + 5);
    expect_median_as_sorted(values);
    for (TypeParam& value : values) value = static_cast<TypeParam>(random.bits() % 20);
    expect_median_as_sorted(values);
  }
}

TEST(Median, the_magnitude_of_the_lowest_integer_is_exact) {
  EXPECT_EQ(reduce(std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 0, -1},
                   kAbsMedian),
            1);
  EXPECT_EQ(reduce(std::vector<std::int8_t>{-128, 1, -128}, kAbsMedian), 128);
}

TEST(Median, of_halves_orders_by_value) {
  std::vector<Float16> halves;
  std::vector<BFloat16> brains;
  std::vector<float> half_values, brain_values;
  Random random(11);
  for (int i = 0; i < 10'000; ++i) {
    halves.push_back({static_cast<std::uint16_t>(random.bits() & 0xbbffU)});
    half_values.push_back(static_cast<float>(halves.back()));
    brains.push_back({static_cast<std::uint16_t>(random.bits() & 0xbfffU)});
    brain_values.push_back(static_cast<float>(brains.back()));
  }
  EXPECT_EQ(reduce(halves, kMedian), sorted_median(half_values, false));
  EXPECT_EQ(reduce(halves, kAbsMedian), sorted_median(half_values, true));
  EXPECT_EQ(reduce(brains, kMedian), sorted_median(brain_values, false));
  EXPECT_EQ(reduce(brains, kAbsMedian), sorted_median(brain_values, true));
}

TEST(Median, of_bools_takes_any_byte_but_zero_for_one) {
  const std::vector<std::uint8_t> bytes{0, 0, 2, 7, 1};
  EXPECT_EQ(reduce(TensorView(bytes.data(), DType::Bool, {5}), kMedian), 1);
  EXPECT_EQ(reduce(TensorView(bytes.data(), DType::Bool, {4}), kMedian), 0.5);
}

TEST(Median, of_infinities_orders_them) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reduce(std::vector<float>{kInf, -kInf, 3}, kMedian), 3);
  EXPECT_EQ(reduce(std::vector<float>{kInf, -kInf, 3}, kAbsMedian), kInfinity);
  EXPECT_EQ(reduce(std::vector<float>{kInf, kInf}, kMedian), kInfinity);
}

TEST(Median, is_nan_wherever_a_nan_is) {
  for (std::size_t place = 0; place < 10'000; place += 37) {
    std::vector<float> values = Random(12).uniform<float>(10'000, -1, 1);
    values[place] = (place % 2 == 0 ? 1.0F : -1.0F) * std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(reduce(values, kMedian)));
    EXPECT_TRUE(std::isnan(reduce(values, kAbsMedian)));
  }
}

TEST(Median, of_a_strided_view_is_that_of_its_elements) {
  const std::vector<double> values = Random(13).uniform<double>(30'000, -1, 1);
  std::vector<double> third;
  for (std::size_t i = 0; i < 30'000; i += 3) third.push_back(values[i]);
  const TensorView reversed(values.data() + 29'997, DType::F64, {10'000}, {-3});
  EXPECT_EQ(reduce(reversed, kMedian), sorted_median(third, false));
  EXPECT_EQ(reduce(reversed, kAbsMedian), sorted_median(third, true));
}

TEST(Median, misaligned_elements_are_read_as_well) {
  const std::vector<float> values = Random(14).uniform<float>(9'999, -1, 1);
  std::vector<std::byte> bytes(values.size() * sizeof(float) + 1);
  std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(float));
  EXPECT_EQ(reduce(TensorView(bytes.data() + 1, DType::F32, {values.size()}), kMedian),
            sorted_median(values, false));
  EXPECT_EQ(reduce(TensorView(bytes.data() + 1, DType::F32, {values.size()}), kProd),
            reduce(values, kProd));
}

}  // namespace
}  // namespace cupel
