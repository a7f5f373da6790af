#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scripting/script_fixture.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Script;

/// What an expression's values are, as text.
std::string values(const std::string& expression) {
  return Script().run("local t = table.pack(" + expression +
                      ") for i = 1, t.n do t[i] = tostring(t[i]) end return table.concat(t, ' ')");
}

TEST(Patterns, find_tells_places_and_groups) {
  EXPECT_EQ(values("('fc1.weight'):find('weight')"), "5 10");
  EXPECT_EQ(values("('fc1.weight'):find([[(\\d)\\.(\\w+)]])"), "3 10 1 weight");
  EXPECT_EQ(values("('abc'):find('x')"), "nil");
  EXPECT_EQ(values("('abc'):find('')"), "1 0");
}

TEST(Patterns, find_begins_where_it_is_told) {
  EXPECT_EQ(values("('abab'):find('a', 2)"), "3 3");
  EXPECT_EQ(values("('abab'):find('a', -1)"), "nil");
  EXPECT_EQ(values("('abab'):find('a', -100)"), "1 1");
  EXPECT_EQ(values("('abc'):find('', 4)"), "4 3");
  EXPECT_EQ(values("('abc'):find('', 5)"), "nil");
  EXPECT_EQ(values("('xay'):find('(?<=x)a', 2)"), "2 2");
}

TEST(Patterns, plain_text_is_no_pattern) {
  EXPECT_EQ(values("('a.b%d'):find('%d', 1, true)"), "4 5");
  EXPECT_EQ(values("('axb'):find('.b', 1, true)"), "nil");
  EXPECT_EQ(values("('a'):find('', 2, true)"), "2 1");
  for (const int before : {0, 254, 255, 256, 257, 511, 512, 1000})
    EXPECT_EQ(values("(('x'):rep(" + std::to_string(before) +
                     ") .. 'needle' .. ('x'):rep(600)):"
                     "find('needle', 1, true)"),
              std::to_string(before + 1) + " " + std::to_string(before + 6));
}

TEST(Patterns, match_gives_groups_or_the_whole) {
  EXPECT_EQ(values("('layer12'):match([[\\d+]])"), "12");
  EXPECT_EQ(values("('k=v'):match('(.)=(.)')"), "k v");
  EXPECT_EQ(values("('b'):match('(a)?(b)')"), "false b");
  EXPECT_EQ(values("('x'):match('y')"), "nil");
}

TEST(Patterns, gmatch_finds_one_after_the_other) {
  const auto all = [](const std::string& text, const std::string& pattern) {
    return Script().run("local s = '' for a, b in ('" + text + "'):gmatch('" + pattern +
                        "') do s = s .. '<' .. a .. (b or '') .. '>' end return s");
  };
  EXPECT_EQ(all("a1 b22", "[a-z]"), "<a><b>");
  EXPECT_EQ(all("a=1,b=2", "(.)=(.)"), "<a1><b2>");
  EXPECT_EQ(all("abc", "b*"), "<><b><>");
  EXPECT_EQ(all("", ""), "<>");
  EXPECT_EQ(all("né", ""), "<><><>");
}

TEST(Patterns, gsub_puts_text_in_place) {
  EXPECT_EQ(values("('hello world'):gsub('o', '0')"), "hell0 w0rld 2");
  EXPECT_EQ(values("('hello'):gsub('l', 'L', 1)"), "heLlo 1");
  EXPECT_EQ(values("('a-b'):gsub('(.)-(.)', '$2-$1 $0 $$ ${1}')"), "b-a a-b $ a 1");
  EXPECT_EQ(values("('ab'):gsub('(?<first>a)', '<${first}>')"), "<a>b 1");
  EXPECT_EQ(values("('abc'):gsub([[\\w*]], 'x')"), "x 1");
  EXPECT_EQ(values("('ab'):gsub('', '-')"), "-a-b- 3");
}

TEST(Patterns, gsub_asks_functions_and_tables) {
  EXPECT_EQ(values("('ab'):gsub('.', function(c) return c == 'a' and 'A' end)"), "Ab 2");
  EXPECT_EQ(values("('ab'):gsub('(.)', {a = 1})"), "1b 2");
}

TEST(Patterns, a_class_of_lua_is_an_error_that_shows_the_spelling) {
  EXPECT_THAT(Script().error("return ('x'):find('%d+')").problem,
              AllOf(HasSubstr("write \\d for %d"), HasSubstr("'%d+'")));
  EXPECT_THAT(Script().error("return ('x'):match('%a')").problem, HasSubstr("[A-Za-z] for %a"));
  EXPECT_THAT(Script().error("return ('x'):gmatch('%s')").problem, HasSubstr("\\s for %s"));
  EXPECT_THAT(Script().error("return ('x'):gsub('%w', '')").problem,
              HasSubstr("[A-Za-z0-9] for %w"));
  EXPECT_EQ(values("('100%d'):find([[\\%d]])"), "4 5");
  EXPECT_EQ(values("('100%'):find('%$')"), "4 4");
}

TEST(Patterns, a_group_of_lua_is_an_error_that_shows_the_spelling) {
  EXPECT_THAT(Script().error("return ('x'):gsub('(x)', '%1')").problem, HasSubstr("$1"));
  EXPECT_THAT(Script().error("return ('x'):gsub('(x)', '$2')").problem, HasSubstr("no group '2'"));
  EXPECT_THAT(Script().error("return ('x'):gsub('(x)', '${')").problem, HasSubstr("followed by"));
}

TEST(Patterns, a_broken_pattern_tells_place_and_line) {
  const ScriptError error = Script().error("\nreturn ('x'):find('a(')");
  EXPECT_EQ(error.line, 2);
  EXPECT_THAT(error.problem, AllOf(HasSubstr("'a('"), HasSubstr("offset 2")));
}

TEST(Patterns, text_that_is_not_utf8_is_searched_all_the_same) {
  EXPECT_EQ(values("('\\255a\\254'):find('a')"), "2 2");
  EXPECT_EQ(values("('\\255a\\255a'):gsub('a', 'b'):byte(1, -1)"), "255 98 255 98");
}

TEST(Patterns, a_place_inside_a_character_is_moved_to_the_next) {
  EXPECT_EQ(values("('éa'):find('.', 2)"), "3 3");
}

TEST(Patterns, many_patterns_are_kept_and_dropped) {
  EXPECT_EQ(Script().run("for i = 1, 100 do local s = 'x' .. i % 40 .. 'y' "
                         "if s:match('x' .. i % 40) ~= 'x' .. i % 40 then return i end end"),
            "nil");
}

}  // namespace
}  // namespace cupel
