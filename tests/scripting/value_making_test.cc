#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripting/value_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ValueMaking : public ::testing::Test {
 protected:
  std::vector<double> doubles(const std::string& expression) {
    return doubles_of(script.array(expression));
  }
  Shape shape(const std::string& expression) { return script.array(expression).shape(); }
  DType dtype(const std::string& expression) { return script.array(expression).dtype(); }
  std::string problem(const std::string& text) { return script.error(text).problem; }
  ValueScript script;
};

TEST_F(ValueMaking, a_table_has_the_shape_of_its_nesting) {
  EXPECT_THAT(doubles("cupel.value{1, 2.5, -3}"), ElementsAre(1, 2.5, -3));
  EXPECT_EQ(shape("cupel.value{1, 2, 3}"), Shape{3});
  EXPECT_EQ(shape("cupel.value{{1, 2, 3}, {4, 5, 6}}"), (Shape{2, 3}));
  EXPECT_EQ(shape("cupel.value{{{1}, {2}}}"), (Shape{1, 2, 1}));
  EXPECT_EQ(shape("cupel.value(7)"), Shape{});
  EXPECT_EQ(shape("cupel.value{}"), Shape{0});
  EXPECT_EQ(shape("cupel.value{{}, {}}"), (Shape{2, 0}));
  EXPECT_THAT(doubles("cupel.value{{1, 2}, {3, 4}}"), ElementsAre(1, 2, 3, 4));
}

TEST_F(ValueMaking, the_first_element_tells_the_dtype) {
  EXPECT_EQ(dtype("cupel.value{1, 2}"), DType::F64);
  EXPECT_EQ(dtype("cupel.value{true, false}"), DType::Bool);
  EXPECT_EQ(dtype("cupel.value{'a', 'b'}"), DType::Utf8);
  EXPECT_EQ(dtype("cupel.value('a')"), DType::Utf8);
  EXPECT_EQ(dtype("cupel.value{}"), DType::F64);
  EXPECT_THAT(strings_of(script.array("cupel.value{'a', '', 'b\\0c'}")),
              ElementsAre("a", "", std::string("b\0c", 3)));
}

TEST_F(ValueMaking, every_dtype_with_its_least_and_largest) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"i8", "-128, 127"},
      {"i16", "-32768, 32767"},
      {"i32", "-2147483648, 2147483647"},
      {"i64", "math.mininteger, math.maxinteger"},
      {"u8", "0, 255"},
      {"u16", "0, 65535"},
      {"u32", "0, 4294967295"},
      {"u64", "0, math.maxinteger"},
      {"f32", "-0.5, 1 / 0"},
      {"f64", "1e308, 5e-324"}};
  for (const auto& [name, numbers] : rows) {
    EXPECT_EQ(script.run("local v = cupel.value({" + numbers + "}, {dtype = '" + name +
                         "'}) local a, b = table.unpack({" + numbers +
                         "}) return v.dtype .. tostring(v[1] == a and v[2] == b)"),
              name + "true");
  }
  EXPECT_THAT(doubles("cupel.value({true, false}, {dtype = 'bool'})"), ElementsAre(1, 0));
  EXPECT_THAT(doubles("cupel.value({3.0, 4}, {dtype = 'i8'})"), ElementsAre(3, 4));
}

TEST_F(ValueMaking, what_a_dtype_does_not_hold_is_an_error) {
  EXPECT_EQ(problem("cupel.value({128}, {dtype = 'i8'})"), "value: 128 is no element of dtype i8");
  EXPECT_EQ(problem("cupel.value({-1}, {dtype = 'u64'})"), "value: -1 is no element of dtype u64");
  EXPECT_EQ(problem("cupel.value({1.5}, {dtype = 'i32'})"),
            "value: 1.5 is no element of dtype i32");
  EXPECT_EQ(problem("cupel.value({2^63}, {dtype = 'i64'})"),
            "value: 9.2233720368548e+18 is no element of dtype i64");
  EXPECT_EQ(problem("cupel.value({0/0}, {dtype = 'u8'})").substr(0, 7), "value: ");
  EXPECT_EQ(problem("cupel.value({1}, {dtype = 'bool'})"),
            "value: a number is no element of dtype bool");
  EXPECT_EQ(problem("cupel.value({true}, {dtype = 'f32'})"),
            "value: a boolean is no element of dtype f32");
  EXPECT_EQ(problem("cupel.value({1, '2'})"), "value: a string is no element of dtype f64");
  EXPECT_EQ(problem("cupel.value({'a', 2})"), "value: a number is no element of dtype utf8");
}

TEST_F(ValueMaking, an_unknown_dtype_is_an_error_with_the_nearest) {
  EXPECT_EQ(problem("cupel.value({1}, {dtype = 'f31'})"),
            "value: no values of dtype f31 are made here; did you mean f32?");
  EXPECT_THAT(problem("cupel.value({1}, {dtype = 'f16'})"),
              HasSubstr("no values of dtype f16 are made here"));
  EXPECT_EQ(problem("cupel.value({1}, {dtype = 3})"), "value: dtype is a number, not a text");
  EXPECT_EQ(problem("cupel.value({1}, {dtpye = 'f32'})"),
            "value does not know dtpye; did you mean dtype?");
  EXPECT_EQ(problem("cupel.value({1}, 'f32')"),
            "value takes a table of named arguments, not a string");
  EXPECT_EQ(problem("cupel.value({1}, {'f32'})"),
            "value takes names, and has an entry without one");
}

TEST_F(ValueMaking, a_flat_table_takes_the_shape_that_is_asked_for) {
  EXPECT_EQ(shape("cupel.value({1, 2, 3, 4, 5, 6}, {shape = {2, 3}})"), (Shape{2, 3}));
  EXPECT_EQ(shape("cupel.value({{1, 2}, {3, 4}}, {shape = {4}})"), Shape{4});
  EXPECT_EQ(shape("cupel.value({'a', 'b'}, {shape = {2, 1}})"), (Shape{2, 1}));
  EXPECT_EQ(problem("cupel.value({1, 2, 3}, {shape = {2, 2}})"),
            "value: 3 elements are not those of the shape [2, 2]");
  EXPECT_EQ(problem("cupel.value({1}, {shape = {-1}})"),
            "value: the shape [-1] has a negative extent");
  EXPECT_EQ(problem("cupel.value({1}, {shape = 1})"), "value: shape is a table of integers");
}

TEST_F(ValueMaking, one_element_fills_a_shape) {
  EXPECT_THAT(doubles("cupel.value(2.5, {shape = {2, 3}})"),
              ElementsAre(2.5, 2.5, 2.5, 2.5, 2.5, 2.5));
  EXPECT_THAT(doubles("cupel.value(true, {shape = {3}})"), ElementsAre(1, 1, 1));
  EXPECT_THAT(doubles("cupel.value(-7, {shape = {70000}, dtype = 'i16'})"), Each(-7));
  EXPECT_THAT(doubles("cupel.value(1, {shape = {0}})"), IsEmpty());
  EXPECT_EQ(problem("cupel.value('a', {shape = {2}})"), "value: a text does not fill a shape");
}

TEST_F(ValueMaking, ragged_tables_are_an_error_with_the_shape) {
  EXPECT_EQ(problem("cupel.value{{1, 2}, {3}}"),
            "value: tables are ragged: one of 1 elements where the shape [2, 2] has 2");
  EXPECT_EQ(problem("cupel.value{{1, 2}, 3}"),
            "value: tables are ragged: a number where the shape [2, 2] has 2");
  EXPECT_EQ(problem("cupel.value{1, {2}}"), "value: a table is no element of dtype f64");
  EXPECT_EQ(problem("local t = {} t[1] = t return cupel.value(t)"),
            "value: tables are nested in more than 32 axes");
  EXPECT_EQ(problem("cupel.value(nil)"), "value: a number or a table is expected, not nil");
  EXPECT_EQ(problem("cupel.value(print)"), "value: a function is no element of dtype f64");
}

TEST_F(ValueMaking, every_length_comes_as_it_was_put_in) {
  for (const std::int64_t length : {1, 63, 64, 65, 1000, 5000})
    EXPECT_EQ(script.run("local t = {} for i = 1, " + std::to_string(length) +
                         " do t[i] = i * i end local v = cupel.value(t) for i = 1, #t do "
                         "if v[i] ~= t[i] then return i end end return #v == #t"),
              "true");
}

TEST_F(ValueMaking, zeros_are_of_any_numeric_dtype) {
  EXPECT_EQ(shape("cupel.zeros{2, 3}"), (Shape{2, 3}));
  EXPECT_EQ(dtype("cupel.zeros{2, 3}"), DType::F64);
  EXPECT_EQ(shape("cupel.zeros{}"), Shape{});
  EXPECT_EQ(shape("cupel.zeros{0, 4}"), (Shape{0, 4}));
  for (const char* name :
       {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"}) {
    EXPECT_THAT(doubles(std::string("cupel.zeros({70001}, {dtype = '") + name + "'})"), Each(0));
    EXPECT_EQ(to_string(dtype(std::string("cupel.zeros({1}, {dtype = '") + name + "'})")), name);
  }
}

TEST_F(ValueMaking, zeros_of_no_shape_are_an_error) {
  EXPECT_EQ(problem("cupel.zeros(3)"), "zeros: a table of extents is expected, not number");
  EXPECT_EQ(problem("cupel.zeros{-1}"), "zeros: the shape [-1] has a negative extent");
  EXPECT_EQ(problem("cupel.zeros{1.5}"), "zeros: an extent is no whole number");
  EXPECT_EQ(problem("cupel.zeros({1}, {dtype = 'utf8'})"), "zeros: texts are no numbers");
  EXPECT_EQ(problem("cupel.zeros{1 << 40, 1 << 40}"),
            "zeros: the shape [1099511627776, 1099511627776] has more elements than any memory");
}

}  // namespace
}  // namespace cupel::testing
