#include "table.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "terminal.h"
#include "text_width.h"

namespace cupel::command_detail {
namespace {

using enum Table::Align;

std::string printed_table(const Table& table, std::size_t columns, bool colour = false) {
  std::ostringstream out;
  set_terminal(out, {.columns = columns, .colour = colour});
  table.print(out);
  return out.str();
}

Table closing_table() {
  Table table({"RULE", "STATUS", "FIRST STEP", "STEPS FIRED", ""}, {Left, Left, Right, Right});
  table.add({"VanishingGradient", "IssuesFound", "120", "3"});
  table.add({"AllZero", "NoIssuesFound", "-", "0"});
  return table;
}

TEST(Table, that_fits_is_printed_as_it_is) {
  const std::string as_it_is = printed_table(closing_table(), 0);
  EXPECT_EQ(as_it_is,
            "RULE               STATUS         FIRST STEP  STEPS FIRED\n"
            "VanishingGradient  IssuesFound           120            3\n"
            "AllZero            NoIssuesFound           -            0\n");
  EXPECT_EQ(printed_table(closing_table(), 57), as_it_is);
}

TEST(Table, that_is_too_wide_breaks_headers_of_numbers_first) {
  EXPECT_EQ(printed_table(closing_table(), 46),
            "RULE               STATUS         FIRST  STEPS\n"
            "                                   STEP  FIRED\n"
            "VanishingGradient  IssuesFound      120      3\n"
            "AllZero            NoIssuesFound      -      0\n");
}

TEST(Table, that_is_still_too_wide_breaks_names_where_they_have_joints) {
  EXPECT_EQ(printed_table(closing_table(), 40),
            "RULE       STATUS         FIRST  STEPS\n"
            "                           STEP  FIRED\n"
            "Vanishing  IssuesFound      120      3\n"
            "Gradient\n"
            "AllZero    NoIssuesFound      -      0\n");
}

TEST(Table, without_room_for_columns_is_a_list_for_each_row) {
  EXPECT_EQ(printed_table(closing_table(), 30),
            "RULE         VanishingGradient\n"
            "STATUS       IssuesFound\n"
            "FIRST STEP   120\n"
            "STEPS FIRED  3\n"
            "\n"
            "RULE         AllZero\n"
            "STATUS       NoIssuesFound\n"
            "FIRST STEP   -\n"
            "STEPS FIRED  0\n");
}

TEST(Table, stays_straight_where_a_name_has_many_blanks) {
  Table table({"NAME", "N"}, {Table::Align::Left, Table::Align::Right});
  table.add({"abcdefgh" + std::string(9, ' ') + "ijklm", "1"});
  EXPECT_EQ(printed_table(table, 12),
            "NAME      N\n"
            "abcdefgh  1\n"
            "ijklm\n");
}

TEST(Table, breaks_text_between_words) {
  Table table({"RULE", "FIRES ON"});
  table.add({"DeadRelu", "a large part of a layer"});
  EXPECT_EQ(printed_table(table, 22),
            "RULE      FIRES ON\n"
            "DeadRelu  a large part\n"
            "          of a layer\n");
}

TEST(Table, never_breaks_numbers_or_characters) {
  Table table({"TENSOR", "VALUE"}, {Left, Right});
  table.add({"größenänderungsfaktor", "1.234567e-100"});
  const std::string text = printed_table(table, 24);
  EXPECT_NE(text.find("1.234567e-100\n"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), 24U) << line;
}

TEST(Table, paints_cells_without_moving_columns) {
  Table table({"A", "B"}, {Right, Left});
  table.add({"1", "x"});
  table.paint(0, Colour::Alarm);
  table.add({"100", "y"});
  EXPECT_EQ(printed_table(table, 0, true), "  A  B\n  \x1b[1;31m1\x1b[0m  x\n100  y\n");
  EXPECT_EQ(printed_table(table, 0), "  A  B\n  1  x\n100  y\n");
}

}  // namespace
}  // namespace cupel::command_detail
