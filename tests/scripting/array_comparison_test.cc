#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripting/array_fixture.h"

namespace cupel::testing {
namespace {

using scripting_detail::Operand;
using ::testing::Each;
using ::testing::ElementsAre;

// What a function of two numbers makes of operands of one shape, in a plain loop.
template <class F>
std::vector<double> plain(const scripting_detail::Array& a, const scripting_detail::Array& b,
                          F&& function) {
  const std::vector<double> of_a = doubles_of(a);
  const std::vector<double> of_b = doubles_of(b);
  std::vector<double> results;
  for (std::size_t i = 0; i < of_a.size(); ++i) results.push_back(function(of_a[i], of_b[i]));
  return results;
}

TEST(Comparison, every_one_of_every_dtype_is_as_the_plain_loop_says) {
  const std::vector<std::pair<scripting_detail::Comparison, bool (*)(double, double)>> table = {
      {scripting_detail::Comparison::Lt, [](double a, double b) { return a < b; }},
      {scripting_detail::Comparison::Le, [](double a, double b) { return a <= b; }},
      {scripting_detail::Comparison::Gt, [](double a, double b) { return a > b; }},
      {scripting_detail::Comparison::Ge, [](double a, double b) { return a >= b; }},
      {scripting_detail::Comparison::Eq, [](double a, double b) { return a == b; }},
      {scripting_detail::Comparison::Ne, [](double a, double b) { return a != b; }}};
  CountingBudget budget;
  for (const auto& [comparison, function] : table) {
    for (const DType dtype : kNumericDTypes) {
      scripting_detail::Array a = any_numbers(dtype, {2000}, 1);
      const scripting_detail::Array b = any_numbers(dtype, {2000}, 2);
      const scripting_detail::Array result =
          scripting_detail::apply(budget, comparison, Operand(a), Operand(b));
      EXPECT_EQ(result.dtype(), DType::Bool);
      EXPECT_EQ(doubles_of(result), plain(a, b, function))
          << static_cast<int>(comparison) << " " << to_string(dtype);
    }
  }
}

TEST(Tests, tell_nan_infinite_and_finite_elements) {
  CountingBudget budget;
  const auto array = array_of<float>({1, NAN, INFINITY, -INFINITY, -0.0F});
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Test::IsNan, array)),
              ElementsAre(0, 1, 0, 0, 0));
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Test::IsInf, array)),
              ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Test::IsFinite, array)),
              ElementsAre(1, 0, 0, 0, 1));
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Test::IsFinite,
                                                 any_numbers(DType::I64, {100}))),
              Each(1));
}

TEST(Logic, combines_flags_of_the_same_shape_and_stretched_ones) {
  CountingBudget budget;
  const auto a = array_of<bool>({false, false, true, true});
  const auto b = array_of<bool>({false, true, false, true});
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Logic::And, a, b)),
              ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Logic::Or, a, b)),
              ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(
      doubles_of(scripting_detail::apply(budget, scripting_detail::Logic::ExclusiveOr, a, b)),
      ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(doubles_of(scripting_detail::invert(budget, a)), ElementsAre(1, 1, 0, 0));
  const auto column = array_of<bool>({false, true}, {2, 1});
  const auto row = array_of<bool>({false, true, true});
  EXPECT_THAT(
      doubles_of(scripting_detail::apply(budget, scripting_detail::Logic::And, column, row)),
      ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Logic::ExclusiveOr,
                                                 column, row)),
              ElementsAre(0, 1, 1, 1, 0, 0));
}

TEST(Logic, every_length_is_as_the_plain_loop_says) {
  CountingBudget budget;
  for (const std::int64_t length : kLengths) {
    const scripting_detail::Array a = some_numbers(DType::Bool, {length}, 1);
    const scripting_detail::Array b = some_numbers(DType::Bool, {length}, 2);
    EXPECT_EQ(doubles_of(scripting_detail::apply(budget, scripting_detail::Logic::Or, a, b)),
              plain(a, b, [](double x, double y) { return std::max(x, y); }));
  }
}

// --- Closeness and bounds

TEST(Close, is_as_numpy_defines_it) {
  struct Row {
    double a, b, relative, absolute;
    bool equal_nan, expected;
  };
  const std::vector<Row> rows = {
      {1, 1 + 1e-6, 1e-5, 1e-8, false, true},
      {1, 1 + 1e-4, 1e-5, 1e-8, false, false},
      {1, 1 + 1e-4, 1e-3, 0, false, true},
      {0, 1e-9, 1e-5, 1e-8, false, true},
      {0, 1e-7, 1e-5, 1e-8, false, false},
      // The tolerance is of the second: 100 is within 1 % of 101, 101 not of 100.
      {100, 101, 0.00995, 0, false, true},
      {101, 100, 0.00995, 0, false, false},
      {kInfinity, kInfinity, 0, 0, false, true},
      {kInfinity, -kInfinity, 1e-5, 1e-8, false, false},
      {1, kInfinity, 1e-5, 1e-8, false, false},
      {kInfinity, 1, 1e-5, 1e-8, false, false},
      {kNaN, kNaN, 1e-5, 1e-8, false, false},
      {kNaN, kNaN, 1e-5, 1e-8, true, true},
      {kNaN, 1, 1e-5, 1e-8, true, false},
      {0.0, -0.0, 0, 0, false, true}};
  CountingBudget budget;
  for (const Row& row : rows) {
    const scripting_detail::Closeness closeness{row.relative, row.absolute, row.equal_nan};
    const Operand a(array_of<double>({row.a}));
    const Operand b(array_of<double>({row.b}));
    EXPECT_EQ(scripting_detail::is_close(budget, a, b, closeness).at(0) == 1, row.expected)
        << row.a << " " << row.b;
    EXPECT_EQ(scripting_detail::all_close(budget, a, b, closeness), row.expected)
        << row.a << " " << row.b;
  }
}

TEST(Close, all_of_them_stretched_and_one_of_them_anywhere) {
  CountingBudget budget;
  for (const std::int64_t place : {0, 1023, 1024, 65'535, 65'536, 99'999}) {
    std::vector<double> numbers(100'000, 2);
    const Operand two(2);
    EXPECT_TRUE(scripting_detail::all_close(budget, Operand(array_of(numbers)), two, {}));
    numbers[static_cast<std::size_t>(place)] = 3;
    EXPECT_FALSE(scripting_detail::all_close(budget, Operand(array_of(numbers)), two, {})) << place;
    const scripting_detail::Array close =
        scripting_detail::is_close(budget, Operand(array_of(numbers)), two, {});
    EXPECT_EQ(scripting_detail::count_nonzero(budget, close), 99'999);
    EXPECT_EQ(close.at(place), 0);
  }
}

TEST(Clip, keeps_what_is_between_the_bounds_and_nan) {
  CountingBudget budget;
  const auto array = array_of<double>({-kInfinity, -2, 0.5, 3, kInfinity, kNaN});
  const auto clipped = [&](double least, double most) {
    return bits_of(doubles_of(scripting_detail::clip(budget, array, least, most)));
  };
  EXPECT_EQ(clipped(-1, 1), bits_of({-1, -1, 0.5, 1, 1, kNaN}));
  EXPECT_EQ(clipped(-kInfinity, 1), bits_of({-kInfinity, -2, 0.5, 1, 1, kNaN}));
  EXPECT_EQ(clipped(-kInfinity, kInfinity), bits_of(doubles_of(array)));
}

// --- Texts

TEST(IsText, compares_with_one_text_and_with_as_many) {
  CountingBudget budget;
  const scripting_detail::Array array = texts_of({"a", "b", "", "a"}, {2, 2});
  EXPECT_THAT(doubles_of(scripting_detail::is_text(budget, array, "a", false)),
              ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(doubles_of(scripting_detail::is_text(budget, array, "a", true)),
              ElementsAre(0, 1, 1, 0));
  const scripting_detail::Array other = texts_of({"a", "a", "", "b"}, {2, 2});
  EXPECT_THAT(doubles_of(scripting_detail::is_text(budget, array, other, false)),
              ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(doubles_of(scripting_detail::is_text(budget, array, other, true)),
              ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(scripting_detail::is_text(budget, array, other, true).shape(), array.shape());
}

TEST(IsText, long_texts_are_paid_for) {
  CountingBudget budget;
  const std::string text(1'000'000, 'x');
  const scripting_detail::Array array = texts_of({text, text, text}, {3});
  EXPECT_THAT(doubles_of(scripting_detail::is_text(budget, array, text, false)), Each(1));
  EXPECT_GE(budget.charged, 2'900'000 / 64);
  EXPECT_LE(budget.most_at_once, 4096);
}

}  // namespace
}  // namespace cupel::testing
