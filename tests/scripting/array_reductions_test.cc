#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripting/array_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::IsNan;

double reduce(scripting_detail::Budget& budget, const scripting_detail::Array& array,
              Reduction reduction) {
  return scripting_detail::reduce(budget, array, reduction,
                                  scripting_detail::statistics_of(budget, array));
}

TEST(Reduce, every_one_of_every_dtype_and_length_is_the_stats_rooms_to_the_bit) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t length : kLengths) {
      for (const scripting_detail::Array& array :
           {some_numbers(dtype, {length}), any_numbers(dtype, {length})}) {
        for (std::size_t i = 0; i < Reduction::kCount; ++i)
          EXPECT_EQ(bits_of({reduce(budget, array, Reduction::at(i))}),
                    bits_of({stats_of(array, Reduction::at(i))}))
              << to_string(Reduction::at(i)) << " " << to_string(dtype) << " " << length;
      }
    }
  }
}

// Beyond a million elements the median is looked for here.
TEST(Reduce, a_median_of_many_elements_is_the_stats_rooms_to_the_bit) {
  CountingBudget budget;
  constexpr std::int64_t kMany = (1LL << 20U) + 3;
  for (const std::int64_t length : {kMany, kMany + 1}) {
    for (const DType dtype : kNumericDTypes) {
      scripting_detail::Array array = some_numbers(dtype, {length});
      for (const bool magnitudes : {false, true})
        EXPECT_EQ(bits_of({reduce(budget, array, {ReductionOp::Median, magnitudes})}),
                  bits_of({stats_of(array, {ReductionOp::Median, magnitudes})}))
            << to_string(dtype) << " " << length << " " << magnitudes;
    }
  }
}

TEST(Reduce, a_median_of_many_elements_of_any_size_is_the_stats_rooms_to_the_bit) {
  CountingBudget budget;
  std::vector<double> numbers;
  std::mt19937_64 engine(5);
  while (numbers.size() <= (1U << 20U))
    numbers.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(engine())),
                                 static_cast<int>(engine() % 1800) - 1000));
  // Half of them are zeros, of which most have a sign.
  for (std::size_t i = 0; i < numbers.size(); i += 2) numbers[i] = i % 6 == 0 ? 0.0 : -0.0;
  const scripting_detail::Array array = array_of(numbers);
  for (const bool magnitudes : {false, true})
    EXPECT_EQ(bits_of({reduce(budget, array, {ReductionOp::Median, magnitudes})}),
              bits_of({stats_of(array, {ReductionOp::Median, magnitudes})}));
  EXPECT_LE(budget.most_at_once, 2 * scripting_detail::kElementsPerPiece);
}

TEST(Reduce, the_middle_ones_of_many_elements_may_be_far_apart) {
  CountingBudget budget;
  constexpr std::size_t kHalf = (1U << 19U) + 1;
  std::vector<double> numbers(kHalf, -1e10);
  numbers.insert(numbers.end(), kHalf, 7);
  EXPECT_EQ(reduce(budget, array_of(numbers), {ReductionOp::Median}), (-1e10 + 7) / 2);
  numbers[kHalf / 2] = -5;
  EXPECT_EQ(reduce(budget, array_of(numbers), {ReductionOp::Median}), 1);
  EXPECT_EQ(scripting_detail::quantile(budget, array_of(numbers), 1, false,
                                       compute_statistics(array_of(numbers).view())),
            7);
}

TEST(CountNonzero, counts_every_dtype_and_length) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t length : kLengths) {
      const scripting_detail::Array array = any_numbers(dtype, {length});
      std::int64_t expected = 0;
      for (const double x : doubles_of(array)) expected += x != 0 ? 1 : 0;
      EXPECT_EQ(scripting_detail::count_nonzero(budget, array), expected)
          << to_string(dtype) << length;
    }
  }
}

// --- Quantiles

double plain_quantile(std::vector<double> numbers, double q) {
  std::sort(numbers.begin(), numbers.end());
  const double place = q * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (static_cast<double>(below) == place) return numbers[below];
  const double part = place - static_cast<double>(below);
  return numbers[below] * (1 - part) + numbers[below + 1] * part;
}

double quantile(scripting_detail::Budget& budget, const scripting_detail::Array& array, double q,
                bool magnitudes = false) {
  return scripting_detail::quantile(budget, array, q, magnitudes,
                                    scripting_detail::statistics_of(budget, array));
}

TEST(Quantile, is_between_the_sorted_elements) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t length : {1, 2, 3, 10, 1023, 65536, 65537, 200'000}) {
      const scripting_detail::Array array = some_numbers(dtype, {length});
      std::vector<double> numbers = doubles_of(array);
      std::vector<double> sizes = numbers;
      for (double& x : sizes) x = std::abs(x);
      for (const double q : {0.0, 0.01, 0.25, 0.5, 0.95, 1.0}) {
        EXPECT_NEAR(quantile(budget, array, q), plain_quantile(numbers, q), 1e-9)
            << to_string(dtype) << " " << length << " " << q;
        EXPECT_NEAR(quantile(budget, array, q, true), plain_quantile(sizes, q), 1e-9)
            << to_string(dtype) << " " << length << " " << q;
      }
    }
  }
}

TEST(Quantile, of_infinities_is_where_they_are) {
  CountingBudget budget;
  const auto array = array_of<double>({-kInfinity, 1, 2, 3, kInfinity});
  EXPECT_EQ(quantile(budget, array, 0), -kInfinity);
  EXPECT_EQ(quantile(budget, array, 0.1), -kInfinity);
  EXPECT_EQ(quantile(budget, array, 0.5), 2);
  EXPECT_EQ(quantile(budget, array, 0.9), kInfinity);
}

TEST(Quantile, of_nothing_and_beside_a_nan_is_nan) {
  CountingBudget budget;
  EXPECT_THAT(quantile(budget, array_of<double>({}), 0.5), IsNan());
  EXPECT_THAT(quantile(budget, array_of<double>({1, kNaN, 3}), 0), IsNan());
}

// --- Norms

double norm(scripting_detail::Budget& budget, const scripting_detail::Array& array, double p) {
  return scripting_detail::norm(budget, array, p, scripting_detail::statistics_of(budget, array));
}

TEST(Norm, is_as_the_plain_loop_says) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t length : {1, 2, 1023, 1024, 1025, 2048, 65537}) {
      const scripting_detail::Array array = some_numbers(dtype, {length});
      for (const double p : {0.5, 1.0, 1.5, 2.0, 3.0, 10.0}) {
        long double sum = 0;
        for (const double x : doubles_of(array))
          sum += std::pow(std::abs(static_cast<long double>(x)), p);
        const auto expected = static_cast<double>(std::pow(sum, 1 / static_cast<long double>(p)));
        EXPECT_NEAR(norm(budget, array, p), expected, 1e-12 * expected) << to_string(dtype) << p;
      }
    }
  }
}

TEST(Norm, one_and_two_are_the_stats_rooms_and_infinity_is_the_largest) {
  CountingBudget budget;
  const scripting_detail::Array array = some_numbers(DType::F32, {5000});
  const Statistics statistics = compute_statistics(array.view());
  EXPECT_EQ(norm(budget, array, 1), statistics.l1);
  EXPECT_EQ(norm(budget, array, 2), statistics.l2);
  EXPECT_EQ(norm(budget, array, kInfinity), statistics.abs_max);
}

TEST(Norm, does_not_overflow_or_vanish_on_the_way) {
  CountingBudget budget;
  EXPECT_NEAR(norm(budget, array_of<double>({3e200, 3e200}), 3) / 1e200, 3 * std::cbrt(2), 1e-12);
  EXPECT_NEAR(norm(budget, array_of<double>({3e-200, 3e-200}), 3) / 1e-200, 3 * std::cbrt(2),
              1e-12);
}

TEST(Norm, of_nothing_zeros_infinities_and_nan) {
  CountingBudget budget;
  for (const double p : {0.5, 1.0, 2.0, 3.0, kInfinity}) {
    EXPECT_EQ(norm(budget, array_of<double>({}), p), 0) << p;
    EXPECT_EQ(norm(budget, array_of<double>({0, -0.0}), p), 0) << p;
    EXPECT_EQ(norm(budget, array_of<double>({1, -kInfinity}), p), kInfinity) << p;
    EXPECT_THAT(norm(budget, array_of<double>({1, kNaN, kInfinity}), p), IsNan()) << p;
  }
}

// --- The largest and the least

std::int64_t plain_index(const std::vector<double>& numbers, bool largest) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::isnan(numbers[i])) return static_cast<std::int64_t>(i);
    if (largest ? numbers[i] > numbers[index] : numbers[i] < numbers[index]) index = i;
  }
  return static_cast<std::int64_t>(index);
}

TEST(IndexOfExtreme, is_the_first_of_equals_and_the_first_nan) {
  CountingBudget budget;
  for (const bool largest : {false, true}) {
    for (const DType dtype : kNumericDTypes)
      for (const std::int64_t length : kLengths) {
        if (length == 0) continue;
        for (const scripting_detail::Array& array :
             {some_numbers(dtype, {length}), any_numbers(dtype, {length})})
          EXPECT_EQ(scripting_detail::index_of_extreme(budget, array, largest),
                    plain_index(doubles_of(array), largest))
              << to_string(dtype) << length;
      }
    EXPECT_EQ(scripting_detail::index_of_extreme(budget, array_of<double>({kNaN, 1, 2}), largest),
              0);
    EXPECT_EQ(scripting_detail::index_of_extreme(budget, array_of<double>({1, 2, kNaN, 3, kNaN}),
                                                 largest),
              2);
    EXPECT_EQ(scripting_detail::index_of_extreme(budget, array_of<double>({-kInfinity, -kInfinity}),
                                                 largest),
              0);
  }
}

}  // namespace
}  // namespace cupel::testing
