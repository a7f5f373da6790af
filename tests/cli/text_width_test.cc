#include "text_width.h"

#include <gtest/gtest.h>

#include <sstream>

#include "table.h"

namespace cupel::command_detail {
namespace {

TEST(TextWidth, counts_the_columns_of_a_terminal) {
  EXPECT_EQ(text_width("loss"), 4U);
  EXPECT_EQ(text_width("größe"), 5U);
  EXPECT_EQ(text_width("损失"), 4U) << "wide";
  EXPECT_EQ(text_width("ｌ"), 2U) << "fullwidth";
  EXPECT_EQ(text_width("e\u0301"), 1U) << "a combining mark";
  EXPECT_EQ(text_width("한"), 2U);
  EXPECT_EQ(text_width("\u1112\u1161\u11ab"), 2U) << "a syllable of three letters";
  EXPECT_EQ(text_width("🔥"), 2U);
  EXPECT_EQ(text_width("\u200b\ufeff"), 0U);
  EXPECT_EQ(text_width("█▌┤⣀…"), 5U) << "what is drawn";
  EXPECT_EQ(text_width("\U00020000"), 2U);
}

TEST(TextWidth, counts_bytes_that_are_no_text) {
  EXPECT_EQ(text_width("\xff"), 1U);
  EXPECT_EQ(text_width("\xe6\x90"), 1U) << "cut";
  EXPECT_EQ(text_width("\xe6"
                       "a"),
            2U);
  EXPECT_EQ(text_width("\x80\x80"), 2U);
}

TEST(Table, columns_stay_straight_with_wide_and_combining_characters) {
  Table table({"TENSOR", "STEPS"}, {Table::Align::Left, Table::Align::Right});
  table.add({"损失", "1"});
  table.add({"e\u0301te\u0301", "10"});
  table.add({"loss 🔥", "1"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(),
            "TENSOR   STEPS\n"
            "损失         1\n"
            "e\u0301te\u0301         10\n"
            "loss 🔥      1\n");
}

}  // namespace
}  // namespace cupel::command_detail
