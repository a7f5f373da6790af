#include "filled_text.h"

#include <gtest/gtest.h>

namespace cupel::testing {
namespace {

TEST(FilledText, joins_lines_of_a_paragraph_and_breaks_them_anew) {
  EXPECT_EQ(command_detail::filled("one two\nthree four", 9), "one two\nthree\nfour\n");
  EXPECT_EQ(command_detail::filled("one two\nthree four", 99), "one two three four\n");
}

TEST(FilledText, keeps_paragraphs_and_what_is_indented) {
  EXPECT_EQ(command_detail::filled("a b\n\n    x  <  y and more\n    z\n\nc", 3),
            "a b\n\n    x  <  y and more\n    z\n\nc\n");
}

TEST(FilledText, a_longer_word_has_a_line_of_its_own) {
  EXPECT_EQ(command_detail::filled("a longest b", 3), "a\nlongest\nb\n");
}

TEST(FilledText, counts_characters_and_no_bytes) {
  EXPECT_EQ(command_detail::filled("äöü ä", 5), "äöü ä\n");
}

TEST(FilledText, no_line_begins_as_a_list_a_heading_or_a_quotation) {
  EXPECT_EQ(command_detail::filled("all of n - 1", 8), "all of\nn - 1\n");
  EXPECT_EQ(command_detail::filled("number is 3. Then", 10), "number\nis 3. Then\n");
  EXPECT_EQ(command_detail::filled("a (b) c", 3), "a\n(b)\nc\n");
}

TEST(FilledText, an_empty_line_at_the_end_does_not_count) {
  EXPECT_EQ(command_detail::filled("a\n", 9), "a\n");
}

}  // namespace
}  // namespace cupel::testing
