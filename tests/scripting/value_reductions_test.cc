#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripting/value_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

// v is [[1, -2, 3], [-4, 0, 6]] of f32; x has one of each special number; t are texts.
class ValueReductions : public ::testing::Test {
 protected:
  ValueReductions() {
    script.give("v", array_of<float>({1, -2, 3, -4, 0, 6}, {2, 3}));
    script.give("x", array_of<double>({-1.5, 0, kNaN, kInfinity, -kInfinity, -0.0}));
    script.give("t", texts_of({"on", "off"}, {2}));
    script.give("nothing", array_of<float>({}, {0, 3}));
  }
  std::vector<double> doubles(const std::string& expression) {
    return doubles_of(script.array(expression));
  }
  Shape shape(const std::string& expression) { return script.array(expression).shape(); }
  std::string problem(const std::string& text) { return script.error(text).problem; }
  ValueScript script;
};

TEST_F(ValueReductions, every_one_of_every_dtype_is_the_stats_rooms_to_the_bit) {
  for (const DType dtype : kNumericDTypes) {
    for (const scripting_detail::Array& array :
         {some_numbers(dtype, {3, 1000}), any_numbers(dtype, {3, 1000})}) {
      script.give("y", array);
      for (std::size_t i = 0; i < Reduction::kCount; ++i) {
        const Reduction reduction = Reduction::at(i);
        const std::string name(to_string(reduction));
        const auto expected = bits_of({stats_of(array, reduction)});
        EXPECT_EQ(bits_of({script.number("y:" + name + "()")}), expected) << name;
        EXPECT_EQ(bits_of({script.number("y:reduction('" + name + "')")}), expected) << name;
        if (!reduction.abs) continue;
        EXPECT_EQ(bits_of({script.number("y:abs():" + name.substr(4) + "()")}), expected) << name;
      }
    }
  }
}

// abs() remembers the statistics of its values; once its elements were needed, they are its own.
TEST_F(ValueReductions, of_magnitudes_stay_the_same_when_these_are_computed) {
  script.give("y", some_numbers(DType::F32, {5000}));
  for (const std::string name : {"min", "max", "mean", "std", "variance", "sum", "prod", "median",
                                 "l1", "l2", "abs_min", "abs_std", "abs_sum"})
    EXPECT_EQ(script.run("local a = y:abs() local before = a:" + name +
                         "() local _ = a + 1 return before == a:" + name +
                         "() and before == (y:abs() * 1):" + name + "()"),
              "true")
        << name;
  EXPECT_EQ(script.run("local a = x:abs() local one = a:counts() local _ = a + 1 "
                       "local two = a:counts() "
                       "return one.pos_inf .. one.neg_inf .. two.pos_inf .. two.neg_inf"),
            "2020");
}

TEST_F(ValueReductions, along_an_axis_leave_the_other_ones) {
  EXPECT_THAT(doubles("v:sum{axis = 1}"), ElementsAre(-3, -2, 9));
  EXPECT_THAT(doubles("v:sum{axis = 2}"), ElementsAre(2, 2));
  EXPECT_THAT(doubles("v:max{axis = -1}"), ElementsAre(3, 6));
  EXPECT_THAT(doubles("v:abs():max{axis = 1}"), ElementsAre(4, 2, 6));
  EXPECT_THAT(doubles("v:abs_max{axis = 1}"), ElementsAre(4, 2, 6));
  EXPECT_THAT(doubles("v:median{axis = 2}"), ElementsAre(1, 0));
  EXPECT_THAT(doubles("v:reduction('prod', {axis = 2})"), ElementsAre(-6, 0));
  EXPECT_EQ(script.run("return v:sum{axis = 2}:sum{axis = 1}"), "4.0");
  EXPECT_EQ(script.run("return v:mean{axis = 1}.name"), "mean(v)");
  EXPECT_EQ(shape("nothing:sum{axis = 1}"), Shape{3});
  EXPECT_EQ(shape("nothing:sum{axis = 2}"), Shape{0});
}

TEST_F(ValueReductions, along_an_axis_may_keep_it_to_be_stretched_again) {
  EXPECT_EQ(shape("v:sum{axis = 2, keepdims = true}"), (Shape{2, 1}));
  EXPECT_EQ(shape("v:flatten():sum{axis = 1, keepdims = true}"), Shape{1});
  EXPECT_THAT(doubles("v - v:max{axis = 2, keepdims = true}"), ElementsAre(-2, -5, 0, -10, -6, 0));
  EXPECT_EQ(shape("v:argmax{axis = 1, keepdims = true}"), (Shape{1, 3}));
  EXPECT_EQ(shape("v:any{axis = 1, keepdims = true}"), (Shape{1, 3}));
  EXPECT_EQ(problem("return v:sum{keepdims = true}"),
            "sum: keepdims is for an axis, and there is none");
}

TEST_F(ValueReductions, an_axis_that_is_not_there_is_told_with_the_shape) {
  for (const std::string call : {"sum", "median", "any", "argmax"}) {
    EXPECT_EQ(problem("return v:" + call + "{axis = 3}"),
              call + ": axis 3 is not among the 2 of v, whose shape is [2, 3]");
    EXPECT_EQ(problem("return v:" + call + "{axes = 1}"),
              call + " does not know axes; did you mean axis?");
    EXPECT_EQ(problem("return v:" + call + "{axis = 'x'}"),
              call + ": axis is a string, not a whole number");
    EXPECT_EQ(problem("return v:" + call + "(1)"),
              call + " takes a table of named arguments, not a number");
  }
  EXPECT_EQ(problem("return v:sum{axis = 0}"),
            "sum: axis 0 is not among the 2 of v, whose shape is [2, 3]");
}

TEST_F(ValueReductions, by_an_unknown_name_are_an_error) {
  EXPECT_THAT(problem("return v:reduction('maen')"), HasSubstr("maen"));
  EXPECT_EQ(problem("return v:reduction(1)"), "reduction: name is a number, not a text");
}

TEST_F(ValueReductions, what_is_not_0_is_counted) {
  EXPECT_EQ(script.run("return v:count_nonzero()"), "5");
  EXPECT_EQ(script.run("return x:count_nonzero()"), "4");
  EXPECT_EQ(script.run("return v:gt(0):count_nonzero()"), "3");
  EXPECT_THAT(doubles("v:count_nonzero{axis = 1}"), ElementsAre(2, 1, 2));
  EXPECT_EQ(script.run("return v:any() and not v:all() and v:gt(-9):all()"), "true");
  EXPECT_EQ(script.run("return nothing:any() or not nothing:all()"), "false");
  EXPECT_EQ(script.run("return cupel.value{0, 0/0}:any()"), "true");
  EXPECT_THAT(doubles("v:all{axis = 1}"), ElementsAre(1, 0, 1));
  EXPECT_THAT(doubles("v:gt(2):any{axis = 1}"), ElementsAre(0, 0, 1));
  EXPECT_EQ(script.run("return v:flatten():all{axis = 1}"), "false");
}

TEST_F(ValueReductions, counts_are_of_what_is_special) {
  const std::string text =
      ":counts() return c.nan .. ' ' .. c.pos_inf .. ' ' .. c.neg_inf .. ' ' .. c.zero";
  EXPECT_EQ(script.run("local c = x" + text), "1 1 1 2");
  EXPECT_EQ(script.run("local c = x:abs()" + text), "1 2 0 2");
  EXPECT_EQ(script.run("local c = cupel.value({0, 5, 0}, {dtype = 'u8'})" + text), "0 0 0 2");
  EXPECT_EQ(problem("return v:counts{axis = 1}"), "counts does not know axis");
}

TEST_F(ValueReductions, the_largest_and_the_least_are_found_from_1_on) {
  EXPECT_EQ(script.run("return v:argmax() .. v:argmin()"), "64");
  EXPECT_EQ(script.run("return x:argmax() .. x:argmin()"), "33");
  EXPECT_EQ(script.run("return v:abs():argmin()"), "5");
  EXPECT_EQ(script.run("return v:flatten()[v:argmax()] == v:max()"), "true");
  EXPECT_THAT(doubles("v:argmax{axis = 1}"), ElementsAre(1, 2, 2));
  EXPECT_THAT(doubles("v:argmin{axis = 2}"), ElementsAre(2, 1));
  EXPECT_EQ(script.run("return v:argmax{axis = 1}.dtype"), "i64");
  EXPECT_EQ(problem("return nothing:argmax()"), "argmax: nothing is empty; its shape is [0, 3]");
  EXPECT_EQ(problem("return nothing:argmin{axis = 1}"),
            "argmin: nothing is empty; its shape is [0, 3]");
  EXPECT_EQ(shape("nothing:argmin{axis = 2}"), Shape{0});
}

TEST_F(ValueReductions, quantiles_are_between_elements) {
  EXPECT_EQ(script.number("cupel.value{4, 1, 3, 2}:quantile(0.5)"), 2.5);
  EXPECT_EQ(script.number("cupel.value{4, 1, 3, 2}:quantile(0)"), 1);
  EXPECT_EQ(script.number("cupel.value{-4, 1, 3, 2}:abs():quantile(1)"), 4);
  EXPECT_THAT(doubles("v:quantile(0.5, {axis = 1})"), ElementsAre(-1.5, -1, 4.5));
  EXPECT_THAT(doubles("v:abs():quantile(1, {axis = 1})"), ElementsAre(4, 2, 6));
  EXPECT_THAT(script.number("nothing:quantile(0.5)"), IsNan());
  EXPECT_EQ(problem("return v:quantile(1.5)"), "quantile: q is 0 to 1, not 1.5");
  EXPECT_THAT(problem("return v:quantile(0/0)"), HasSubstr("quantile: q is 0 to 1, not "));
  EXPECT_EQ(problem("return v:quantile()"), "quantile: q is not given");
}

TEST_F(ValueReductions, norms_are_of_any_order_above_0) {
  EXPECT_EQ(script.number("cupel.value{3, -4}:norm()"), 5);
  EXPECT_EQ(script.number("cupel.value{3, -4}:norm(1)"), 7);
  EXPECT_EQ(script.number("cupel.value{3, -4}:norm(math.huge)"), 4);
  EXPECT_NEAR(script.number("cupel.value{3, -4}:norm(3)"), std::cbrt(91), 1e-14);
  EXPECT_NEAR(script.number("cupel.value{3, -4}:abs():norm(3)"), std::cbrt(91), 1e-14);
  EXPECT_THAT(doubles("v:norm(math.huge, {axis = 1})"), ElementsAre(4, 2, 6));
  EXPECT_THAT(doubles("v:norm(2, {axis = 1})"), ElementsAre(std::sqrt(17.0), 2, std::sqrt(45.0)));
  EXPECT_EQ(problem("return v:norm(0)"), "norm: p is more than 0, not 0");
  EXPECT_EQ(problem("return v:norm(-1)"), "norm: p is more than 0, not -1");
  EXPECT_EQ(problem("return v:norm('2')"), "norm: p is a string, not a number");
}

TEST_F(ValueReductions, histograms_have_edges_and_what_is_outside) {
  const std::string shown =
      " return table.concat(h.counts, ',') .. '|' .. table.concat(h.edges, ',') .. '|' .. h.nan .. "
      "',' .. h.below .. ',' .. h.above";
  EXPECT_EQ(script.run("local h = v:histogram{bins = 2}" + shown), "3,3|-4.0,1.0,6.0|0,0,0");
  EXPECT_EQ(script.run("local h = v:histogram{bins = 2, range = {0, 4}}" + shown),
            "2,1|0.0,2.0,4.0|0,2,1");
  EXPECT_EQ(script.run("local h = x:histogram{bins = 1, range = {-1, 1}}" + shown),
            "2|-1.0,1.0|1,2,1");
  EXPECT_EQ(script.run("local h = v:abs():histogram{bins = 3}" + shown),
            "2,2,2|0.0,2.0,4.0,6.0|0,0,0");
  EXPECT_EQ(script.run("return #v:histogram().counts"), "10");
}

TEST_F(ValueReductions, histograms_of_wrong_bins_are_an_error) {
  EXPECT_EQ(problem("return v:histogram{bins = 0}"), "histogram: there are 1 to 10000 bins, not 0");
  EXPECT_EQ(problem("return v:histogram{bins = 10001}"),
            "histogram: there are 1 to 10000 bins, not 10001");
  EXPECT_EQ(problem("return v:histogram{bins = 1.5}"), "histogram: bins is no whole number");
  EXPECT_EQ(problem("return v:histogram{range = 1}"),
            "histogram: range is a number, not a list of numbers");
  EXPECT_EQ(problem("return v:histogram{range = {1}}"),
            "histogram: range is a table of two numbers");
  EXPECT_EQ(problem("return v:histogram{range = {2, 1}}"),
            "histogram: a range is of finite numbers, the lower one first");
  EXPECT_EQ(problem("return v:histogram{range = {0, math.huge}}"),
            "histogram: a range is of finite numbers, the lower one first");
  EXPECT_EQ(problem("return v:histogram{bin = 3}"),
            "histogram does not know bin; did you mean bins?");
}

TEST_F(ValueReductions, texts_have_none) {
  for (const std::string call :
       {"mean()", "sum{axis = 1}", "median()", "any()", "all()", "count_nonzero()", "counts()",
        "argmax()", "quantile(0.5)", "norm()", "histogram()", "dot(t)", "cosine_similarity(t)",
        "reduction('mean')"})
    EXPECT_THAT(problem("return t:" + call), HasSubstr("t is utf8, which are no numbers")) << call;
}

// --- Of two values

TEST_F(ValueReductions, dot_is_the_sum_of_the_products) {
  EXPECT_EQ(script.number("v:dot(v)"), 66);
  EXPECT_EQ(script.number("cupel.value{1, 2}:dot(cupel.value{10, 100})"), 210);
  EXPECT_EQ(script.number("nothing:dot(nothing)"), 0);
  EXPECT_EQ(script.number("cupel.value(3):dot(cupel.value(4))"), 12);
  EXPECT_EQ(script.number("v:abs():dot(v)"), 1 - 4 + 9 - 16 + 36);
}

TEST_F(ValueReductions, cosine_similarity_is_of_directions_whatever_their_lengths) {
  EXPECT_NEAR(script.number("cupel.value{1, 1}:cosine_similarity(cupel.value{1, 0})"),
              std::sqrt(0.5), 1e-15);
  for (const std::string length : {"1", "1e300", "5e307", "1e-300", "5e-324"}) {
    EXPECT_NEAR(script.number("(cupel.value{1, 2, 3} * " + length +
                              "):cosine_similarity(cupel.value{1, 2, 3} * 1e200)"),
                1, 1e-15)
        << length;
    EXPECT_EQ(script.number("(cupel.value{-1, 0} * " + length +
                            "):cosine_similarity(cupel.value{1e300, 0})"),
              -1)
        << length;
  }
  EXPECT_NEAR(script.number("v:cosine_similarity(v)"), 1, 1e-15);
  EXPECT_NEAR(script.number("v:abs():cosine_similarity(v)"), 26.0 / 66, 1e-15);
  EXPECT_NEAR(script.number("v:cosine_similarity(v:abs())"), 26.0 / 66, 1e-15);
}

TEST_F(ValueReductions, cosine_similarity_with_what_has_no_direction_is_nan) {
  EXPECT_THAT(script.number("cupel.zeros{2}:cosine_similarity(cupel.value{1, 2})"), IsNan());
  EXPECT_THAT(script.number("nothing:cosine_similarity(nothing)"), IsNan());
  EXPECT_THAT(script.number("x:cosine_similarity(x)"), IsNan());
  EXPECT_THAT(script.number("cupel.value{1, 1/0}:cosine_similarity(cupel.value{1, 2})"), IsNan());
}

TEST_F(ValueReductions, pairs_of_different_shapes_are_an_error_with_both) {
  EXPECT_EQ(problem("return v:dot(x)"), "dot: shapes [2, 3] of v and [6] of x are not the same");
  EXPECT_EQ(problem("return v:cosine_similarity(v:flatten())"),
            "cosine_similarity: shapes [2, 3] of v and [6] of v are not the same");
  EXPECT_EQ(problem("return v:dot(1)"), "dot: a value is expected, not number");
  EXPECT_EQ(problem("return v:dot(v, {axis = 1})"), "dot does not know axis");
}

}  // namespace
}  // namespace cupel::testing
