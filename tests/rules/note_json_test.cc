#include "cupel/rules/note_json.h"

#include <gtest/gtest.h>

namespace cupel {
namespace {

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}
std::string quoted(const std::string& text) { return '"' + text + '"'; }

TEST(NoteJson, is_the_note_itself_in_one_line_where_it_is_json) {
  EXPECT_EQ(note_json(R"({ "b" : 1, "a": [ null, "x" ] })"), R"({"b":1,"a":[null,"x"]})");
  EXPECT_EQ(note_json("17"), "17");
}

TEST(NoteJson, is_the_text_where_it_is_not) {
  EXPECT_EQ(note_json(""), R"("")");
  EXPECT_EQ(note_json("saved"), R"("saved")");
  EXPECT_EQ(note_json("{} {}"), R"("{} {}")");
  EXPECT_EQ(note_json("1e999"), R"("1e999")");
  EXPECT_EQ(note_json("\xff"), "\"\uFFFD\"");
}

TEST(NoteJson, is_the_text_where_it_is_nested_too_deeply_or_too_long) {
  EXPECT_EQ(note_json(nested(32)), nested(32));
  EXPECT_EQ(note_json(nested(33)), quoted(nested(33)));
  EXPECT_EQ(note_json(nested(1'000'000)), quoted(nested(1'000'000)));
  EXPECT_EQ(note_json(R"(["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[["])"),
            R"(["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[["])");
  const std::string digits(std::size_t{1} << 20U, ' ');
  EXPECT_EQ(note_json(digits + "1"), quoted(digits + "1"));
}

}  // namespace
}  // namespace cupel
