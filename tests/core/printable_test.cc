#include "cupel/core/printable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/hostile_text.h"
#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/core/pattern.h"
#include "cupel/core/printer.h"

namespace cupel {
namespace {

TEST(Printable, text_is_as_it_was) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("fc1.weight \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82"),
            "fc1.weight \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82");
}

TEST(Printable, control_characters_are_escaped) {
  EXPECT_EQ(printable("\x1b[2J\n\x7f"), "\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
}

TEST(Printable, bytes_that_are_no_utf8_are_escaped) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xe2z"), "\\xe2z");
}

TEST(Printable, characters_that_nobody_sees_are_escaped) {
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\u202e");
  EXPECT_EQ(printable("\xef\xbb\xbf"), "\\ufeff");
  EXPECT_EQ(printable("\xf3\xa0\x81\x81"), "\\U000e0041");
  EXPECT_THAT(testing::raw_in(printable(testing::hostile_text())), ::testing::IsEmpty());
}

TEST(Printable, a_text_that_is_printable_already_stays) {
  const std::string once = printable(testing::hostile_text());
  EXPECT_EQ(printable(once), once);
}

TEST(Printable, json_has_escapes_that_a_parser_reads_as_the_same_characters) {
  EXPECT_EQ(printable_json("{\n  \"a\": \"\xc2\x9b\x7f\xe2\x80\xae\xc3\xa9\xf3\xa0\x81\x81\"\n}"),
            "{\n  \"a\": \"\\u009b\\u007f\\u202e\xc3\xa9\\udb40\\udc41\"\n}");
}

TEST(Printable, a_long_value_is_cut_in_a_message) {
  const std::string shown = printable(std::string(60'000'000, 'x'));
  EXPECT_LT(shown.size(), 5000U);
  EXPECT_TRUE(shown.ends_with("... (59995904 bytes more)")) << shown.substr(4000);
  try {
    const Pattern pattern(std::string(1'000'000, '('));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 5000U);
  }
}

TEST(Printable, what_is_logged_is_one_printable_line) {
  const testing::LogCapture captured;
  log(LogLevel::Warning, testing::hostile_text());
  EXPECT_THAT(testing::raw_in(captured.lines().at(0).second), ::testing::IsEmpty());
}

TEST(Printer, a_text_is_escaped_and_a_literal_is_not) {
  std::ostringstream stream;
  const std::string text = "a\n\x1b[1m";
  Printer(stream) << "literal\n" << text << ' ' << 5 << '\n' << text.c_str();
  EXPECT_EQ(stream.str(), "literal\na\\x0a\\x1b[1m 5\na\\x0a\\x1b[1m");
}

TEST(Printer, a_single_character_of_somebody_else_is_escaped) {
  std::ostringstream stream;
  for (const char c : std::string("a\x1b\r\n")) Printer(stream) << c;
  EXPECT_EQ(stream.str(), "a\\x1b\\x0d\n");
}

TEST(Printer, of_composed_text_line_ends_and_colours_stay) {
  std::ostringstream stream;
  Printer(stream) << Composed{"\x1b[1;31mred\x1b[0m\n\ta\x1b[2J\r\xe2\x80\xae"};
  EXPECT_EQ(stream.str(), "\x1b[1;31mred\x1b[0m\n\ta\\x1b[2J\\x0d\\u202e");
}

TEST(Printable, long_text_is_cut_between_characters) {
  EXPECT_EQ(printable("12345", 5), "12345");
  EXPECT_EQ(printable("123456", 5), "12345... (1 bytes more)");
  EXPECT_EQ(printable("1234\xc3\xa9", 5), "1234... (2 bytes more)");
  EXPECT_EQ(printable("1\n\n", 5), "1\\x0a... (1 bytes more)");
}

}  // namespace
}  // namespace cupel
