#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripting/value_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// a is [[1, 2], [3, 4]] of i32, b [10, 20] of f32, x has one of each special number, t are texts.
class ValueOperations : public ::testing::Test {
 protected:
  ValueOperations() {
    script.give("a", array_of<std::int32_t>({1, 2, 3, 4}, {2, 2}));
    script.give("b", array_of<float>({10, 20}));
    script.give("x", array_of<double>({-1.5, 0, kNaN, kInfinity, -kInfinity}));
    script.give("t", texts_of({"on", "off"}, {2}));
    script.give("c", array_of<float>({1, 2, 3}));
  }
  std::vector<double> doubles(const std::string& expression) {
    return doubles_of(script.array(expression));
  }
  DType dtype(const std::string& expression) { return script.array(expression).dtype(); }
  std::string problem(const std::string& text) { return script.error(text).problem; }
  ValueScript script;
};

TEST_F(ValueOperations, each_operator_is_its_operation) {
  EXPECT_THAT(doubles("a + b"), ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(doubles("b - a"), ElementsAre(9, 18, 7, 16));
  EXPECT_THAT(doubles("a * b"), ElementsAre(10, 40, 30, 80));
  EXPECT_THAT(doubles("b / a"), ElementsAre(10, 10, 10.0 / 3, 5));
  EXPECT_THAT(doubles("b // a"), ElementsAre(10, 10, 3, 5));
  EXPECT_THAT(doubles("b % a"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(doubles("a ^ 3"), ElementsAre(1, 8, 27, 64));
  EXPECT_THAT(doubles("2 ^ a"), ElementsAre(2, 4, 8, 16));
  EXPECT_THAT(doubles("1 - a"), ElementsAre(0, -1, -2, -3));
  EXPECT_THAT(doubles("-a"), ElementsAre(-1, -2, -3, -4));
  EXPECT_EQ(dtype("a + a"), DType::F64);
}

TEST_F(ValueOperations, each_method_is_its_operation) {
  EXPECT_THAT(doubles("a:sqrt()"), ElementsAre(1, std::sqrt(2.0), std::sqrt(3.0), 2));
  EXPECT_THAT(doubles("a:exp():log()"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(doubles("(a - 2):sign()"), ElementsAre(-1, 0, 1, 1));
  EXPECT_THAT(doubles("(a / 2):floor()"), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(doubles("(a - 3):abs()"), ElementsAre(2, 1, 0, 1));
  EXPECT_THAT(doubles("a:minimum(2)"), ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(doubles("a:maximum(cupel.value{2, 3})"), ElementsAre(2, 3, 3, 4));
  EXPECT_THAT(doubles("a:clip(2, 3)"), ElementsAre(2, 2, 3, 3));
  EXPECT_THAT(doubles("a:clip(nil, 3)"), ElementsAre(1, 2, 3, 3));
  EXPECT_THAT(doubles("a:clip(2)"), ElementsAre(2, 2, 3, 4));
}

TEST_F(ValueOperations, comparisons_make_masks) {
  EXPECT_THAT(doubles("a:lt(3)"), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(doubles("a:le(3)"), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(doubles("a:gt(cupel.value{2, 2})"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(doubles("a:ge(3)"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(doubles("a:eq(3)"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(doubles("a:ne(3)"), ElementsAre(1, 1, 0, 1));
  EXPECT_EQ(dtype("a:ne(3)"), DType::Bool);
  EXPECT_THAT(doubles("t:eq('on')"), ElementsAre(1, 0));
  EXPECT_THAT(doubles("t:ne('on')"), ElementsAre(0, 1));
  EXPECT_THAT(doubles("t:eq(cupel.value{'off', 'off'})"), ElementsAre(0, 1));
}

TEST_F(ValueOperations, masks_are_combined) {
  EXPECT_THAT(doubles("a:gt(1) & a:lt(4)"), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(doubles("a:lt(2) | a:gt(3)"), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(doubles("a:gt(1) ~ a:lt(4)"), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(doubles("~a:gt(1)"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(doubles("a:gt(0) & b:gt(10)"), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(script.number("(a:gt(1) + 0):sum()"), 3);
}

TEST_F(ValueOperations, nan_and_infinities_are_found) {
  EXPECT_THAT(doubles("x:isnan()"), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(doubles("x:isinf()"), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(doubles("x:isfinite()"), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(doubles("x:abs():isinf()"), ElementsAre(0, 0, 0, 1, 1));
}

TEST_F(ValueOperations, closeness_has_tolerances) {
  EXPECT_THAT(doubles("b:isclose(cupel.value{10.0001, 21})"), ElementsAre(1, 0));
  EXPECT_THAT(doubles("b:isclose(cupel.value{10, 21}, {rtol = 0.1})"), ElementsAre(1, 1));
  EXPECT_THAT(doubles("b:isclose(10.5, {atol = 0.5, rtol = 0})"), ElementsAre(1, 0));
  EXPECT_EQ(script.run("return b:allclose(b + 1e-7)"), "true");
  EXPECT_EQ(script.run("return b:allclose(b + 1)"), "false");
  EXPECT_EQ(script.run("return x:allclose(x)"), "false");
  EXPECT_EQ(script.run("return x:allclose(x, {equal_nan = true})"), "true");
}

TEST_F(ValueOperations, equality_is_of_the_whole) {
  EXPECT_EQ(script.run("return a == cupel.value{{1, 2}, {3, 4}}"), "true");
  EXPECT_EQ(script.run("return a == a:flatten()"), "false");
  EXPECT_EQ(script.run("return a ~= a + 1"), "true");
  EXPECT_EQ(script.run("return (a - 3):abs() == cupel.value{{2, 1}, {0, 1}}"), "true");
  EXPECT_EQ(script.run("return t == cupel.value{'on', 'off'}"), "true");
  EXPECT_EQ(script.run("return t == b"), "false");
  EXPECT_EQ(script.run("return x == x:slice()"), "false");
  EXPECT_EQ(script.run("return a == 1"), "false");
}

TEST_F(ValueOperations, what_is_made_is_named_after_what_made_it) {
  EXPECT_EQ(script.run("return (a + b).name"), "add(a, b)");
  EXPECT_EQ(script.run("return (2 ^ a).name"), "power(2, a)");
  EXPECT_EQ(script.run("return (a:abs():sqrt()).name"), "sqrt(abs(a))");
  EXPECT_EQ(script.run("return (a:gt(1) & ~a:gt(2)).name"), "and(gt(a, 1), not(gt(a, 2)))");
}

TEST_F(ValueOperations, a_long_name_is_cut) {
  EXPECT_EQ(
      script.run("local v = a for i = 1, 1000 do v = v + a if #v.name > 120 then return i end "
                 "end return v.name:sub(1, 4)"),
      "add(");
}

// --- Wrong uses

TEST_F(ValueOperations, shapes_that_do_not_fit_are_told_with_names) {
  for (const auto& [use, function] :
       std::vector<std::pair<std::string, std::string>>{{"a + c", "add"},
                                                        {"a - c", "subtract"},
                                                        {"a * c", "multiply"},
                                                        {"a / c", "divide"},
                                                        {"a // c", "floor_divide"},
                                                        {"a % c", "modulo"},
                                                        {"a ^ c", "power"},
                                                        {"a:minimum(c)", "minimum"},
                                                        {"a:maximum(c)", "maximum"},
                                                        {"a:lt(c)", "lt"},
                                                        {"a:le(c)", "le"},
                                                        {"a:gt(c)", "gt"},
                                                        {"a:ge(c)", "ge"},
                                                        {"a:eq(c)", "eq"},
                                                        {"a:ne(c)", "ne"},
                                                        {"a:isclose(c)", "isclose"},
                                                        {"a:allclose(c)", "allclose"}})
    EXPECT_EQ(problem("return " + use), function + ": shapes [2, 2] of a and [3] of c do not fit");
  EXPECT_EQ(problem("return a:gt(1) & c:gt(1)"),
            "and: shapes [2, 2] of gt(a, 1) and [3] of gt(c, 1) do not fit");
  EXPECT_EQ(problem("return t:eq(cupel.value{'x'})"),
            "eq: shapes [2] of t and [1] of value are not the same");
}

TEST_F(ValueOperations, texts_are_no_numbers) {
  for (const std::string use :
       {"t + 1", "1 + t", "a * t", "-t", "t:abs()", "t:sqrt()", "t:exp()", "t:log()", "t:sign()",
        "t:floor()", "t:minimum(1)", "t:clip(0, 1)", "t:lt(1)", "t:eq(1)", "t:lt('on')",
        "t:isnan()", "t:isclose(t)", "t:allclose(t)", "a:eq(t)"})
    EXPECT_THAT(problem("return " + use), HasSubstr("t is utf8, which are no numbers")) << use;
}

TEST_F(ValueOperations, what_is_no_operand_is_told) {
  EXPECT_EQ(problem("return a + 'x'"), "add: a value or a number is expected, not string");
  EXPECT_EQ(problem("return {} * a"), "multiply: a value or a number is expected, not table");
  EXPECT_EQ(problem("return a:lt()"), "lt: a value or a number is expected, not no value");
  EXPECT_EQ(problem("return a:gt('3')"), "gt: a value or a number is expected, not string");
  EXPECT_EQ(problem("return a & 1"),
            "and: both operands are masks, as v:gt(0) makes them, and this is a of i32");
  EXPECT_EQ(problem("return a:gt(1) | 1"),
            "or: both operands are masks, as v:gt(0) makes them, and this is number");
  EXPECT_EQ(problem("return ~a"),
            "not: both operands are masks, as v:gt(0) makes them, and this is a of i32");
  EXPECT_EQ(problem("return a < 1"),
            "values are compared by methods: v:lt(x), v:le(x), v:gt(x), v:ge(x)");
  EXPECT_EQ(problem("return 1 >= a"),
            "values are compared by methods: v:lt(x), v:le(x), v:gt(x), v:ge(x)");
  EXPECT_EQ(problem("return a.sqrt()"), "sqrt: a value is expected before ':', not no value");
  EXPECT_EQ(problem("return a.sqrt(3)"), "sqrt: a value is expected before ':', not number");
  EXPECT_THAT(problem("return a .. 'x'"), HasSubstr("attempt to concatenate a tensor value"));
}

TEST_F(ValueOperations, bounds_and_tolerances_are_numbers_that_make_sense) {
  EXPECT_EQ(problem("return a:clip(2, 1)"), "clip: the lower bound is not below the upper one");
  EXPECT_EQ(problem("return a:clip(0/0, 1)"), "clip: the lower bound is not below the upper one");
  EXPECT_EQ(problem("return a:clip('0')"), "clip: least is a string, not a number");
  EXPECT_EQ(problem("return a:isclose(a, {rtol = -1})"), "isclose: rtol and atol are 0 or more");
  EXPECT_EQ(problem("return a:allclose(a, {tol = 1})"),
            "allclose does not know tol; did you mean rtol or atol?");
  EXPECT_EQ(problem("return a:allclose(a, {rtol = 'x'})"),
            "allclose: rtol is a string, not a number");
}

}  // namespace
}  // namespace cupel::testing
