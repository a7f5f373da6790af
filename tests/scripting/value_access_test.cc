#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripting/value_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// v is [[1, 2, 3], [4, 5, 6]] of f32, t the texts "a", "bb", "", m the mask of v > 3.
class ValueAccess : public ::testing::Test {
 protected:
  ValueAccess() {
    script.give("v", array_of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
    script.give("t", texts_of({"a", "bb", ""}, {3}));
    script.give("m", array_of<bool>({false, false, false, true, true, true}, {2, 3}));
    script.give("nothing", array_of<float>({}, {0, 3}));
    script.give("s", array_of<std::int64_t>({7}, Shape{}));
  }
  std::vector<double> doubles(const std::string& expression) {
    return doubles_of(script.array(expression));
  }
  Shape shape(const std::string& expression) { return script.array(expression).shape(); }
  std::string problem(const std::string& text) { return script.error(text).problem; }
  ValueScript script;
};

// --- What a value is

TEST_F(ValueAccess, tells_what_it_is) {
  EXPECT_EQ(script.run("return v.dtype .. v.name .. v.elements"), "f32v6");
  EXPECT_EQ(script.run("return #v.shape .. ':' .. v.shape[1] .. v.shape[2]"), "2:23");
  EXPECT_EQ(script.run("return #s.shape .. ':' .. s.elements"), "0:1");
  EXPECT_EQ(script.run("return #v"), "2");
  EXPECT_EQ(script.run("return #nothing"), "0");
  EXPECT_EQ(script.run("return v"), "f32[2, 3] v");
  EXPECT_EQ(script.run("return s"), "i64[] s");
  EXPECT_EQ(script.run("return type(v)"), "userdata");
}

TEST_F(ValueAccess, is_told_from_everything_else) {
  EXPECT_EQ(script.run("return cupel.is_value(v)"), "true");
  for (const char* other : {"1", "nil", "{}", "'v'", "print", ""})
    EXPECT_EQ(script.run(std::string("return cupel.is_value(") + other + ")"), "false") << other;
}

TEST_F(ValueAccess, what_it_does_not_have_is_told_with_what_comes_near) {
  EXPECT_EQ(problem("return v.dtyp"), "a value has no field or method dtyp; did you mean dtype?");
  EXPECT_EQ(problem("return v:medain()"),
            "a value has no field or method medain; did you mean median or mean?");
  EXPECT_THAT(problem("return v:reshpae(6)"), HasSubstr("did you mean reshape?"));
  EXPECT_EQ(problem("return v.qqqqqqqqqq"), "a value has no field or method qqqqqqqqqq");
  EXPECT_LT(problem("return v[('x'):rep(1000000)]").size(), 200U);
}

TEST_F(ValueAccess, cannot_be_changed) {
  EXPECT_EQ(problem("v[1] = 2"), "a value cannot be changed; operations make new ones");
  EXPECT_EQ(problem("v.name = 'x'"), "a value cannot be changed; operations make new ones");
}

// --- v[i]

TEST_F(ValueAccess, an_index_is_an_element_or_a_slice_of_the_first_axis) {
  EXPECT_THAT(doubles("v[1]"), ElementsAre(1, 2, 3));
  EXPECT_THAT(doubles("v[2]"), ElementsAre(4, 5, 6));
  EXPECT_THAT(doubles("v[-1]"), ElementsAre(4, 5, 6));
  EXPECT_EQ(shape("v[1]"), Shape{3});
  EXPECT_EQ(script.run("return v[2][-2]"), "5.0");
  EXPECT_EQ(script.run("return v[2.0][1]"), "4.0");
  EXPECT_EQ(script.run("return t[2] .. t[-3]"), "bba");
  EXPECT_EQ(script.run("return m[1][3]"), "false");
  EXPECT_EQ(script.run("return m[-1][-1]"), "true");
}

TEST_F(ValueAccess, every_dtype_gives_its_kind_of_element) {
  for (const DType dtype : kNumericDTypes) {
    script.give("x", array_of(dtype, {0, 1}, {2}));
    const std::string one = dtype == DType::Bool ? "true" : is_floating(dtype) ? "1.0" : "1";
    EXPECT_EQ(script.run("return x[2]"), one) << to_string(dtype);
    EXPECT_EQ(script.run("return x:at(-1)"), one) << to_string(dtype);
  }
  script.give("x", array_of<std::int64_t>({INT64_MIN, (1LL << 53U) + 1}));
  EXPECT_EQ(script.run("return x[1] == math.mininteger and x[2]"), "9007199254740993");
  script.give("x", array_of<std::uint64_t>({1ULL << 63U, 5}));
  EXPECT_EQ(script.run("return x[1] == 2.0 ^ 63 and x[2]"), "5");
}

TEST_F(ValueAccess, ipairs_ends_after_the_last_element) {
  EXPECT_EQ(script.run("local s = '' for i, x in ipairs(t) do s = s .. i .. x end return s"),
            "1a2bb3");
  EXPECT_EQ(script.run("local n = 0 for i, row in ipairs(v) do n = n + row:sum() end return n"),
            "21.0");
  EXPECT_EQ(script.run("for i, row in ipairs(nothing) do return i end"), "nil");
}

TEST_F(ValueAccess, an_index_beyond_the_ends_is_an_error_with_the_shape) {
  EXPECT_EQ(problem("return v[0]"), "v[i]: index 0 is not in 1 to 2 of v, whose shape is [2, 3]");
  EXPECT_EQ(problem("return v[4]"), "v[i]: index 4 is not in 1 to 2 of v, whose shape is [2, 3]");
  EXPECT_EQ(problem("return v[-3]"), "v[i]: index -3 is not in 1 to 2 of v, whose shape is [2, 3]");
  EXPECT_THAT(problem("return v[math.mininteger]"), HasSubstr("is not in 1 to 2 of v"));
  EXPECT_THAT(problem("return v[math.maxinteger]"), HasSubstr("is not in 1 to 2 of v"));
  EXPECT_EQ(problem("return s[1]"), "v[i]: s has no axes; its element is v:item()");
  EXPECT_EQ(problem("return v[1.5]"), "v[i]: the index is no whole number");
  EXPECT_EQ(problem("return v[{}]"), "v[i]: the index is a table");
  EXPECT_EQ(problem("return #s"), "#: s has no axes");
}

TEST_F(ValueAccess, a_mask_as_index_chooses_elements) {
  EXPECT_THAT(doubles("v[m]"), ElementsAre(4, 5, 6));
  EXPECT_EQ(problem("return v[v]"), "where: v is f32, not a mask as v:gt(0) makes it");
}

// --- at and item

TEST_F(ValueAccess, at_takes_an_index_for_each_axis) {
  EXPECT_EQ(script.run("return v:at(1, 1) .. v:at(2, 1) .. v:at(-1, -1)"), "1.04.06.0");
  EXPECT_EQ(script.run("return s:at()"), "7");
  EXPECT_EQ(problem("return v:at(1)"),
            "at: 1 indices are not one for each axis of v, whose shape is [2, 3]");
  EXPECT_EQ(problem("return v:at(1, 4)"),
            "at: index 4 is not in 1 to 3 of axis 2 of v, whose shape is [2, 3]");
  EXPECT_EQ(problem("return v:at(0, 1)"),
            "at: index 0 is not in 1 to 2 of axis 1 of v, whose shape is [2, 3]");
  EXPECT_EQ(problem("return v:at(1, 'x')"), "at: an index is a string, not a whole number");
  EXPECT_THAT(problem("return nothing:at(1, 1)"), HasSubstr("is not in 1 to 0 of axis 1"));
}

TEST_F(ValueAccess, at_finds_every_element_of_four_axes) {
  const Shape shape{2, 3, 4, 5};
  const scripting_detail::Array array = some_numbers(DType::I32, shape);
  script.give("x", array);
  const std::vector<double> all = doubles_of(array);
  std::size_t i = 0;
  for (int a = 1; a <= 2; ++a)
    for (int b = 1; b <= 3; ++b)
      for (int c = 1; c <= 4; ++c)
        for (int d = 1; d <= 5; ++d)
          EXPECT_EQ(script.number("x:at(" + std::to_string(a) + "," + std::to_string(b) + "," +
                                  std::to_string(c) + "," + std::to_string(d) + ")"),
                    all[i++]);
}

TEST_F(ValueAccess, item_is_the_only_element) {
  EXPECT_EQ(script.run("return s:item()"), "7");
  EXPECT_EQ(script.run("return v:slice(1, 1, 1):slice(2, 2, 2):item()"), "2.0");
  EXPECT_EQ(problem("return v:item()"), "item: v has 6 elements, not one; its shape is [2, 3]");
}

// --- Slices

TEST_F(ValueAccess, a_slice_is_of_positions_both_included) {
  EXPECT_THAT(doubles("v:slice(2, 2, 3)"), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(doubles("v:slice(2, -2)"), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(doubles("v:slice(2, 1, 3, 2)"), ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(doubles("v:slice(2, 1, -2)"), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(doubles("v:slice(-1, 3, 3)"), ElementsAre(3, 6));
  EXPECT_THAT(doubles("v:slice{axis = 1, first = 2}"), ElementsAre(4, 5, 6));
  EXPECT_THAT(doubles("v:slice{axis = 2, step = 2}"), ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(doubles("v:slice{last = 1}"), ElementsAre(1, 2, 3));
  EXPECT_THAT(doubles("v:slice()"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(shape("v:slice(2, 1, 3, 5)"), (Shape{2, 1}));
  EXPECT_EQ(script.run("return v:slice(2, 1).name"), "v");
}

TEST_F(ValueAccess, a_slice_may_be_empty) {
  EXPECT_EQ(shape("v:slice(2, 3, 2)"), (Shape{2, 0}));
  EXPECT_EQ(shape("v:slice(2, 4)"), (Shape{2, 0}));
  EXPECT_EQ(shape("v:slice(1, 1, 0)"), (Shape{0, 3}));
  EXPECT_EQ(shape("nothing:slice(1)"), (Shape{0, 3}));
  EXPECT_EQ(shape("nothing:slice(2, 2)"), (Shape{0, 2}));
}

TEST_F(ValueAccess, a_slice_beyond_the_ends_is_an_error_with_the_shape) {
  EXPECT_EQ(problem("return v:slice(2, 1, 4)"),
            "slice: 1 to 4 is not in 1 to 3 of axis 2 of v, whose shape is [2, 3]");
  EXPECT_THAT(problem("return v:slice(2, 0)"), HasSubstr("slice: 0 to -1 is not in 1 to 3"));
  EXPECT_THAT(problem("return v:slice(2, 5)"), HasSubstr("slice: 5 to -1 is not in 1 to 3"));
  EXPECT_THAT(problem("return v:slice(2, -4)"), HasSubstr("is not in 1 to 3"));
  EXPECT_THAT(problem("return v:slice(2, 1, math.mininteger)"), HasSubstr("is not in 1 to 3"));
  EXPECT_EQ(problem("return v:slice(3)"),
            "slice: axis 3 is not among the 2 of v, whose shape is [2, 3]");
  EXPECT_EQ(problem("return v:slice(0)"),
            "slice: axis 0 is not among the 2 of v, whose shape is [2, 3]");
  EXPECT_EQ(problem("return s:slice()"),
            "slice: axis 1 is not among the 0 of s, whose shape is []");
  EXPECT_EQ(problem("return v:slice(1, 1, 2, 0)"), "slice: a step is 1 or more, not 0");
  EXPECT_EQ(problem("return v:slice{axes = 1}"), "slice does not know axes; did you mean axis?");
  EXPECT_EQ(problem("return v:slice(nil, 2)"), "slice: axis is not given");
  EXPECT_EQ(problem("return v:slice('x')"), "slice takes a table of named arguments, not a string");
}

TEST_F(ValueAccess, a_step_may_be_as_large_as_integers_are) {
  EXPECT_THAT(doubles("v:slice(2, 2, 3, math.maxinteger)"), ElementsAre(2, 5));
}

// --- Shapes

TEST_F(ValueAccess, is_reshaped_row_by_row) {
  EXPECT_EQ(shape("v:reshape(3, 2)"), (Shape{3, 2}));
  EXPECT_EQ(shape("v:reshape{3, 2}"), (Shape{3, 2}));
  EXPECT_EQ(shape("v:reshape(-1, 2)"), (Shape{3, 2}));
  EXPECT_EQ(shape("v:reshape(6, 1, -1)"), (Shape{6, 1, 1}));
  EXPECT_EQ(shape("v:flatten()"), Shape{6});
  EXPECT_EQ(shape("s:reshape(1, 1)"), (Shape{1, 1}));
  EXPECT_EQ(shape("s:flatten()"), Shape{1});
  EXPECT_EQ(shape("s:reshape(1):reshape()"), Shape{});
  EXPECT_EQ(shape("nothing:reshape(0)"), Shape{0});
  EXPECT_THAT(doubles("v:reshape(3, 2)[2]"), ElementsAre(3, 4));
  EXPECT_EQ(script.run("return t:reshape(3, 1)[2][1]"), "bb");
}

TEST_F(ValueAccess, another_number_of_elements_is_an_error_with_both) {
  EXPECT_EQ(problem("return v:reshape(4, 2)"),
            "reshape: v has 6 elements, which are not those of the shape [4, 2]");
  EXPECT_EQ(problem("return v:reshape(-1, 4)"),
            "reshape: v has 6 elements, which are not those of the shape [-1, 4]");
  EXPECT_THAT(problem("return v:reshape(-1, -1)"), HasSubstr("not those of the shape [-1, -1]"));
  EXPECT_THAT(problem("return v:reshape(-2, -3)"), HasSubstr("not those of the shape [-2, -3]"));
  EXPECT_THAT(problem("return nothing:reshape(-1, 0)"), HasSubstr("of the shape [-1, 0]"));
  EXPECT_EQ(problem("return v:reshape('6')"), "reshape: an extent is a string, not a whole number");
  EXPECT_EQ(problem("return v:reshape{2, {}}"),
            "reshape: an extent is a table, not a whole number");
  EXPECT_EQ(problem("local t = {} for i = 1, 33 do t[i] = 1 end return v:reshape(t)"),
            "reshape: a shape has 32 axes at most");
}

// --- Masks

TEST_F(ValueAccess, where_yields_what_the_mask_has) {
  EXPECT_THAT(doubles("v:where(v:gt(2) & v:lt(6))"), ElementsAre(3, 4, 5));
  EXPECT_EQ(shape("v:where(v:gt(9))"), Shape{0});
  EXPECT_EQ(script.run("return t:where(t:ne(''))[2]"), "bb");
  EXPECT_EQ(problem("return v:where(t:eq('a'))"),
            "where: shapes [2, 3] of v and [3] of the mask eq(t, a) are not the same");
  EXPECT_EQ(problem("return v:where(v)"), "where: v is f32, not a mask as v:gt(0) makes it");
  EXPECT_EQ(problem("return v:where()"), "where: a value is expected, not no value");
  EXPECT_EQ(problem("return v:where(m, 0)"),
            "where: a mask is all it takes; it yields the elements that the mask has");
}

TEST_F(ValueAccess, indices_are_those_of_the_flat_mask_and_their_number) {
  EXPECT_EQ(script.run("local i, n = m:indices() return table.concat(i, ',') .. ':' .. n"),
            "4,5,6:3");
  EXPECT_EQ(script.run("local i, n = m:indices(2) return table.concat(i, ',') .. ':' .. n"),
            "4,5:3");
  EXPECT_EQ(script.run("local i, n = m:indices(0) return #i .. ':' .. n"), "0:3");
  EXPECT_EQ(script.run("local i, n = cupel.value(true, {shape = {2000}}):indices() "
                       "return #i .. ':' .. n"),
            "1000:2000");
  EXPECT_EQ(problem("return v:indices()"), "indices: v is f32, not a mask as v:gt(0) makes it");
  EXPECT_EQ(problem("return m:indices(-1)"), "indices: a table has 0 to 1000000 elements, not -1");
}

// --- Tables

TEST_F(ValueAccess, a_table_is_nested_as_the_axes_are) {
  EXPECT_EQ(script.run("local t = v:to_table() return #t .. #t[1] .. t[1][3] .. t[2][1]"),
            "233.04.0");
  EXPECT_EQ(script.run("return table.concat(t:to_table(), ',')"), "a,bb,");
  EXPECT_EQ(script.run("return m:to_table()[2][3]"), "true");
  EXPECT_EQ(script.run("return s:to_table()"), "7");
  EXPECT_EQ(script.run("return #nothing:to_table()"), "0");
  EXPECT_EQ(script.run("local t = v:slice(2, 1, 0):to_table() return #t .. #t[2]"), "20");
}

TEST_F(ValueAccess, every_dtype_comes_back_from_a_table) {
  for (const DType dtype : kNumericDTypes) {
    const scripting_detail::Array array = some_numbers(dtype, {3, 4});
    script.give("x", array);
    EXPECT_EQ(script.run("return cupel.value(x:to_table()) == x"), "true") << to_string(dtype);
  }
}

TEST_F(ValueAccess, a_table_has_10000_elements_unless_more_are_asked_for) {
  EXPECT_EQ(script.run("return #cupel.zeros{10000}:to_table()"), "10000");
  EXPECT_EQ(problem("return cupel.zeros{101, 100}:to_table()"),
            "to_table: zeros, whose shape is [101, 100], has more than 10000 elements; "
            "to_table(10100) asks for all of them");
  EXPECT_EQ(script.run("return #cupel.zeros{101, 100}:to_table(10100)"), "101");
  EXPECT_EQ(problem("return v:to_table(5)"),
            "to_table: v, whose shape is [2, 3], has more than 5 elements; "
            "to_table(6) asks for all of them");
  EXPECT_THAT(problem("return cupel.zeros{1001, 1000}:to_table(1000000)"),
              HasSubstr("elements, and no table has"));
  EXPECT_EQ(problem("return v:to_table(1000001)"),
            "to_table: a table has 0 to 1000000 elements, not 1000001");
}

TEST_F(ValueAccess, tables_of_nothing_count_as_well) {
  EXPECT_THAT(problem("return cupel.zeros{1000, 1000, 0}:to_table()"),
              HasSubstr("to_table(1000000) asks for all of them"));
  EXPECT_THAT(problem("return cupel.zeros{1000000, 1000000, 0}:to_table(1000000)"),
              HasSubstr("no table has"));
  EXPECT_EQ(script.run("return #cupel.zeros{0, 1000000000000}:to_table()"), "0");
}

// --- Magnitudes, which are computed late

TEST_F(ValueAccess, magnitudes_are_those_of_each_element_however_they_are_reached) {
  script.give("x", array_of<std::int32_t>({-1, 2, -3, -4}, {2, 2}));
  EXPECT_EQ(script.run("return x:abs():at(2, 2)"), "4.0");
  EXPECT_EQ(script.run("return x:abs()[1][1] .. x:flatten():abs()[-2]"), "1.03.0");
  EXPECT_EQ(script.run("return cupel.value(-5):abs():item()"), "5.0");
  EXPECT_THAT(doubles("x:abs():slice(2, 1, 1)"), ElementsAre(1, 3));
  EXPECT_THAT(doubles("x:abs():where(x:lt(0))"), ElementsAre(1, 3, 4));
  EXPECT_THAT(doubles("x:abs():reshape(4) - x:flatten()"), ElementsAre(2, 0, 6, 8));
  EXPECT_THAT(doubles("x:abs()[2]"), ElementsAre(3, 4));
  EXPECT_EQ(script.run("return x:abs():to_table()[2][2]"), "4.0");
  EXPECT_EQ(script.run("return x:abs().dtype .. x:abs().name"), "f64abs(x)");
}

}  // namespace
}  // namespace cupel::testing
