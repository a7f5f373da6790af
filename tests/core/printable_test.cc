#include "cupel/core/printable.h"

#include <gtest/gtest.h>

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

TEST(Printable, long_text_is_cut_between_characters) {
  EXPECT_EQ(printable("12345", 5), "12345");
  EXPECT_EQ(printable("123456", 5), "12345...");
  EXPECT_EQ(printable("1234\xc3\xa9", 5), "1234...");
  EXPECT_EQ(printable("1\n\n", 5), "1\\x0a...");
}

}  // namespace
}  // namespace cupel
