#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scripting/array_fixture.h"

namespace cupel::testing {
namespace {

using scripting_detail::Operand;
using ::testing::ElementsAre;

// The index, in an array of `own`, of what an array stretched from it to `shape` has at `index`.
std::size_t index_before_stretching(const Shape& own, const Shape& shape, std::int64_t index) {
  std::int64_t place = 0;
  std::int64_t step = 1;
  for (std::size_t back = 1; back <= shape.rank(); ++back) {
    const std::int64_t extent = shape[shape.rank() - back];
    const std::int64_t along = index % extent;
    index /= extent;
    if (back > own.rank()) continue;
    if (own[own.rank() - back] != 1) place += along * step;
    step *= own[own.rank() - back];
  }
  return static_cast<std::size_t>(place);
}

using Two = std::function<double(double, double)>;

// What a function of two numbers makes of stretched operands, in a plain loop.
std::vector<double> plain(const scripting_detail::Array& a, const scripting_detail::Array& b,
                          const Shape& shape, const Two& function) {
  const std::vector<double> of_a = doubles_of(a);
  const std::vector<double> of_b = doubles_of(b);
  std::vector<double> results;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    results.push_back(function(of_a[index_before_stretching(a.shape(), shape, i)],
                               of_b[index_before_stretching(b.shape(), shape, i)]));
  return results;
}

std::vector<double> plain(const scripting_detail::Array& a,
                          const std::function<double(double)>& function) {
  std::vector<double> results;
  for (const double x : doubles_of(a)) results.push_back(function(x));
  return results;
}

// --- Element by element

const std::vector<std::pair<scripting_detail::Unary, double (*)(double)>>& unaries() {
  static const std::vector<std::pair<scripting_detail::Unary, double (*)(double)>> table = {
      {scripting_detail::Unary::Negative, [](double x) { return -x; }},
      {scripting_detail::Unary::Abs, [](double x) { return std::signbit(x) ? -x : x; }},
      {scripting_detail::Unary::Sqrt, [](double x) { return std::sqrt(x); }},
      {scripting_detail::Unary::Exp, [](double x) { return std::exp(x); }},
      {scripting_detail::Unary::Log, [](double x) { return std::log(x); }},
      {scripting_detail::Unary::Sign,
       [](double x) {
         return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x;
       }},
      {scripting_detail::Unary::Floor, [](double x) { return std::floor(x); }}};
  return table;
}

TEST(Unary, every_operation_on_every_dtype_is_as_the_plain_loop_says) {
  CountingBudget budget;
  for (const auto& [operation, function] : unaries()) {
    for (const DType dtype : kNumericDTypes) {
      const scripting_detail::Array array = any_numbers(dtype, {50, 30});
      const scripting_detail::Array result = scripting_detail::apply(budget, operation, array);
      EXPECT_EQ(result.dtype(), DType::F64);
      EXPECT_EQ(result.shape(), array.shape());
      EXPECT_EQ(bits_of(doubles_of(result)), bits_of(plain(array, function)))
          << static_cast<int>(operation) << " " << to_string(dtype);
    }
  }
}

TEST(Unary, every_length_is_as_the_plain_loop_says) {
  CountingBudget budget;
  for (const std::int64_t length : kLengths) {
    const scripting_detail::Array array = some_numbers(DType::F32, {length});
    EXPECT_EQ(doubles_of(scripting_detail::apply(budget, scripting_detail::Unary::Negative, array)),
              plain(array, [](double x) { return -x; }))
        << length;
  }
}

TEST(Unary, a_number_without_axes_stays_one) {
  CountingBudget budget;
  const auto result =
      scripting_detail::apply(budget, scripting_detail::Unary::Sqrt, array_of<float>({9}, Shape{}));
  EXPECT_EQ(result.shape(), Shape{});
  EXPECT_EQ(result.at(0), 3);
}

// --- Of two operands

// Lua's a % b, as its manual defines it: a - floor(a / b) * b without rounding.
double plain_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
}

double nan_or(double a, double b, double result) {
  return std::isnan(a) || std::isnan(b) ? kNaN : result;
}

const std::vector<std::pair<scripting_detail::Binary, double (*)(double, double)>>& binaries() {
  static const std::vector<std::pair<scripting_detail::Binary, double (*)(double, double)>> table =
      {{scripting_detail::Binary::Add, [](double a, double b) { return a + b; }},
       {scripting_detail::Binary::Subtract, [](double a, double b) { return a - b; }},
       {scripting_detail::Binary::Multiply, [](double a, double b) { return a * b; }},
       {scripting_detail::Binary::Divide, [](double a, double b) { return a / b; }},
       {scripting_detail::Binary::FloorDivide,
        [](double a, double b) { return std::floor(a / b); }},
       {scripting_detail::Binary::Modulo, plain_modulo},
       {scripting_detail::Binary::Power, [](double a, double b) { return std::pow(a, b); }},
       {scripting_detail::Binary::Minimum,
        [](double a, double b) { return nan_or(a, b, std::min(a, b)); }},
       {scripting_detail::Binary::Maximum,
        [](double a, double b) { return nan_or(a, b, std::max(a, b)); }}};
  return table;
}

TEST(Binary, every_operation_on_every_dtype_is_as_the_plain_loop_says) {
  CountingBudget budget;
  for (const auto& [operation, function] : binaries()) {
    for (const DType dtype : kNumericDTypes) {
      const scripting_detail::Array a = any_numbers(dtype, {40, 30}, 1);
      const scripting_detail::Array b = any_numbers(DType::F32, {40, 30}, 2);
      const scripting_detail::Array result =
          scripting_detail::apply(budget, operation, Operand(a), Operand(b));
      EXPECT_EQ(result.dtype(), DType::F64);
      // Of zeros of both signs either is the least: compared as numbers.
      const std::vector<double> expected = plain(a, b, a.shape(), function);
      const std::vector<double> found = doubles_of(result);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
            << static_cast<int>(operation) << " " << to_string(dtype) << " " << i;
    }
  }
}

// All ways in which shapes of up to four axes stretch.
TEST(Binary, operands_are_stretched_as_the_plain_loop_does) {
  const std::vector<Shape> shapes = {{},           {1},          {5},          {4, 5},
                                     {4, 1},       {1, 5},       {3, 4, 5},    {3, 1, 5},
                                     {3, 4, 1},    {3, 1, 1},    {1, 4, 5},    {1, 1, 1},
                                     {2, 3, 4, 5}, {2, 1, 4, 1}, {1, 3, 1, 5}, {2, 1, 1, 1}};
  CountingBudget budget;
  for (const Shape& of_a : shapes) {
    for (const Shape& of_b : shapes) {
      const scripting_detail::Array a = some_numbers(DType::F64, of_a, 1);
      const scripting_detail::Array b = some_numbers(DType::I16, of_b, 2);
      const Shape shape = scripting_detail::common_shape(of_a, of_b).value();
      const scripting_detail::Array result = scripting_detail::apply(
          budget, scripting_detail::Binary::Subtract, Operand(a), Operand(b));
      EXPECT_EQ(result.shape(), shape);
      EXPECT_EQ(doubles_of(result), plain(a, b, shape, std::minus<>()))
          << to_string(of_a) << " " << to_string(of_b);
    }
  }
}

TEST(Binary, stretched_rows_around_the_size_of_a_piece_are_right) {
  CountingBudget budget;
  for (const std::int64_t length : {1, 2, 3, 1023, 1024, 1025, 65537}) {
    for (const auto& [of_a, of_b] : {std::pair<Shape, Shape>{{3, length}, {length}},
                                     std::pair<Shape, Shape>{{3, length}, {3, 1}},
                                     std::pair<Shape, Shape>{{length, 1}, {1, 3}}}) {
      const scripting_detail::Array a = some_numbers(DType::F32, of_a, 1);
      const scripting_detail::Array b = some_numbers(DType::F32, of_b, 2);
      const Shape shape = scripting_detail::common_shape(of_a, of_b).value();
      EXPECT_EQ(doubles_of(scripting_detail::apply(budget, scripting_detail::Binary::Add,
                                                   Operand(a), Operand(b))),
                plain(a, b, shape, std::plus<>()))
          << to_string(of_a) << " " << to_string(of_b);
    }
  }
}

TEST(Binary, a_number_is_on_either_side) {
  CountingBudget budget;
  const auto a = array_of<std::int32_t>({1, 2, 4});
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Binary::Divide,
                                                 Operand(8), Operand(a))),
              ElementsAre(8, 4, 2));
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Binary::Power,
                                                 Operand(a), Operand(2))),
              ElementsAre(1, 4, 16));
  EXPECT_THAT(doubles_of(scripting_detail::apply(budget, scripting_detail::Binary::Power,
                                                 Operand(2), Operand(a))),
              ElementsAre(2, 4, 16));
}

TEST(Binary, the_rest_has_the_divisors_sign_also_where_their_product_vanishes) {
  CountingBudget budget;
  const auto rest = [&](double a, double b) {
    return scripting_detail::apply(budget, scripting_detail::Binary::Modulo,
                                   Operand(array_of<double>({a})), Operand(b))
        .at(0);
  };
  EXPECT_EQ(rest(5, 3), 2);
  EXPECT_EQ(rest(-5, 3), 1);
  EXPECT_EQ(rest(5, -3), -1);
  EXPECT_EQ(rest(6, -3), 0);
  EXPECT_EQ(rest(1e-200, -3e-200), -2e-200);
  EXPECT_EQ(rest(-1e200, 3e200), 2e200);
  EXPECT_EQ(rest(-1, kInfinity), kInfinity);
}

TEST(CommonShape, is_that_to_which_both_stretch) {
  EXPECT_EQ(scripting_detail::common_shape({}, {}), Shape{});
  EXPECT_EQ(scripting_detail::common_shape({4, 1}, {3}), (Shape{4, 3}));
  EXPECT_EQ(scripting_detail::common_shape({0, 1}, {1, 3}), (Shape{0, 3}));
  EXPECT_EQ(scripting_detail::common_shape({1}, {0}), Shape{0});
  EXPECT_EQ(scripting_detail::common_shape({2}, {3}), std::nullopt);
  EXPECT_EQ(scripting_detail::common_shape({0}, {2}), std::nullopt);
  EXPECT_EQ(scripting_detail::common_shape({2, 3}, {2}), std::nullopt);
}

TEST(Binary, of_empty_operands_is_empty) {
  CountingBudget budget;
  const scripting_detail::Array empty = some_numbers(DType::F32, {0, 3});
  const scripting_detail::Array result =
      scripting_detail::apply(budget, scripting_detail::Binary::Add, Operand(empty),
                              Operand(some_numbers(DType::F32, {1, 3})));
  EXPECT_EQ(result.shape(), (Shape{0, 3}));
}

// --- Products

TEST(Dot, is_the_sum_of_the_products) {
  CountingBudget budget;
  for (const DType dtype : kNumericDTypes) {
    for (const std::int64_t length : {0, 1, 2, 1023, 1024, 1025, 2047, 2048, 2049, 65537}) {
      const scripting_detail::Array a = some_numbers(dtype, {length}, 1);
      const scripting_detail::Array b = some_numbers(DType::F32, {length}, 2);
      // Of quarters: exact in double.
      double expected = 0;
      for (const double x : plain(a, b, a.shape(), std::multiplies<>())) expected += x;
      EXPECT_EQ(scripting_detail::dot(budget, a, b), expected) << to_string(dtype) << length;
    }
  }
}

TEST(Dot, of_scaled_factors_does_not_overflow) {
  CountingBudget budget;
  const auto huge = array_of<double>({3e300, 4e300});
  EXPECT_EQ(scripting_detail::dot(budget, huge, huge), kInfinity);
  EXPECT_NEAR(scripting_detail::dot(budget, huge, huge, 1e300, 1e300), 25, 1e-12);
}

}  // namespace
}  // namespace cupel::testing
