#include "cupel/core/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace cupel {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(NumberText, the_shortest_text_reads_back_as_the_same_number) {
  for (const double number : {0.0, 0.1, 1e-7, 123456789.125, 5e-324, 1.7976931348623157e308})
    EXPECT_EQ(parse_number(shortest_text(number)), number);
  EXPECT_EQ(shortest_text(0.1), "0.1");
  EXPECT_EQ(shortest_text(0.1F), "0.1");
  EXPECT_EQ(shortest_text(double{0.1F}), "0.10000000149011612");
}

TEST(NumberText, special_numbers_have_names) {
  EXPECT_EQ(shortest_text(kNaN), "NaN");
  EXPECT_EQ(short_text(kInfinity), "Infinity");
  EXPECT_EQ(rounded_text(-kInfinity, 3), "-Infinity");
}

TEST(NumberText, a_short_text_has_six_digits_at_most) {
  EXPECT_EQ(short_text(1234567), "1.23457e+06");
  EXPECT_EQ(short_text(0.25), "0.25");
  EXPECT_EQ(rounded_text(1234567, 3), "1.23e+06");
}

TEST(NumberText, a_comparison_is_as_long_as_both_sides_need) {
  EXPECT_EQ(comparison_text(3.1e-9, "<", 1e-7), "3.1e-09 < 1e-07");
  EXPECT_EQ(comparison_text(0.30000000000000004, ">", 0.3), "0.30000000000000004 > 0.3");
}

TEST(NumberText, hexadecimal_text_has_the_digits_that_were_asked_for) {
  EXPECT_EQ(hexadecimal_text(0x1f, 8), "0000001f");
  EXPECT_EQ(hexadecimal_text(0, 2), "00");
  EXPECT_EQ(hexadecimal_text(0x123456789abcdef0, 16), "123456789abcdef0");
  EXPECT_EQ(hexadecimal_text(0xabc, 2), "bc");
}

TEST(ParseInteger, the_whole_text_is_the_number) {
  EXPECT_EQ(parse_integer<int>("42"), 42);
  EXPECT_EQ(parse_integer<std::int64_t>("-9223372036854775808"),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_integer<std::uint32_t>("00ff", 16), 255U);
  for (const char* text : {"", " 42", "42 ", "+42", "4x", "4.0", "0x4", "-", "4e0"})
    EXPECT_EQ(parse_integer<int>(text), std::nullopt) << text;
}

TEST(ParseInteger, a_number_out_of_range_is_none) {
  EXPECT_EQ(parse_integer<std::uint8_t>("255"), std::uint8_t{255});
  EXPECT_EQ(parse_integer<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_integer<std::uint8_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_integer<std::int64_t>("9223372036854775808"), std::nullopt);
}

TEST(ParseNumber, the_whole_text_is_the_number) {
  EXPECT_EQ(parse_number("-1.5e3"), -1500);
  EXPECT_EQ(parse_number("inf"), kInfinity);
  for (const char* text : {"", " 1", "1 ", "+1", "1,5", "0x10", "1e", "1e999"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(ParseNumber, blanks_and_one_plus_are_taken_off_first) {
  EXPECT_EQ(without_blanks_and_plus(" \t+5\r\n"), "5");
  EXPECT_EQ(without_blanks_and_plus("-5"), "-5");
  for (const char* text : {"+", "+-5", "++5", "+ 5"})
    EXPECT_EQ(parse_number(without_blanks_and_plus(text)), std::nullopt) << text;
}

}  // namespace
}  // namespace cupel
