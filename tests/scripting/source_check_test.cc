#include "../../scripting/src/source_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scripting/script_fixture.h"

namespace cupel {
namespace {

using ::testing::HasSubstr;
using testing::Script;

std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

std::optional<std::int64_t> line_of(const std::string& text) {
  return scripting_detail::line_of_long_chain(text);
}

TEST(SourceCheck, a_chain_may_have_fifty_parts) {
  EXPECT_EQ(line_of("return a" + repeated(".x", 50)), std::nullopt);
  EXPECT_EQ(line_of("return a" + repeated(".x", 51)), 1);
}

TEST(SourceCheck, all_that_follows_a_value_is_a_part) {
  EXPECT_EQ(line_of("return a" + repeated("[1]", 60)), 1);
  EXPECT_EQ(line_of("return a" + repeated(" [ 1 ] . x", 30)), 1);
  EXPECT_EQ(line_of("return a" + repeated(":x()", 60)), 1);
  EXPECT_EQ(line_of("return a" + repeated(".x --[[ . ]] ", 60)), 1);
  EXPECT_EQ(line_of("return (((a" + repeated(".x", 20) + ")" + repeated(".x", 20) + ")" +
                    repeated(".x", 20) + ")"),
            1);
  EXPECT_EQ(line_of("return a[b" + repeated(".x", 30) + "]" + repeated(".x", 30)), 1);
}

TEST(SourceCheck, a_new_expression_is_a_new_chain) {
  const std::string some = "a" + repeated(".x", 40);
  for (const char* const between :
       {" + ", " .. ", ", ", " == ", " and ", "\nreturn ", " = ", " ; ", " 1 "})
    EXPECT_EQ(line_of("x = " + repeated(some + between, 5)), std::nullopt) << between;
  EXPECT_EQ(line_of(repeated("f(a.x, a.y)\n", 100)), std::nullopt);
  EXPECT_EQ(line_of("x = {" + repeated("a.x, ", 100) + "}"), std::nullopt);
}

TEST(SourceCheck, what_is_no_code_has_no_chains) {
  const std::string many = repeated(".x", 100);
  for (const std::string& text :
       {"-- a" + many, "--[[ a" + many + "\n]] x = 1", "x = 'a" + many + "'",
        "x = \"a\\\"" + many + "\"", "x = [==[ a]] " + many + "]==]",
        "x = 'a\\z  \n  " + many + "'", "x = 'a\\\r\n" + many + "'", "x = 'a\\\n\r" + many + "'",
        "x = 'a\\z\r\n\n\r" + many + "'", "x = [=[\r\n]]" + many + "]=]",
        "--[==[]=]\r" + many + "]==]", "x = 1.5" + repeated(" + .5 + 0x.8p-1", 100)})
    EXPECT_EQ(line_of(text), std::nullopt) << text;
}

TEST(SourceCheck, the_line_of_a_long_chain_is_returned) {
  EXPECT_EQ(line_of("--[[\n\n]] local s = 'a\\\nb'\nreturn a" + repeated(".x", 51)), 5);
}

TEST(SourceCheck, an_escaped_end_of_line_does_not_hide_the_code_behind_a_text) {
  for (const char* const end : {"\n", "\r", "\r\n", "\n\r"}) {
    const std::string text = std::string("local x = \"\\") + end + "\"; return a";
    EXPECT_EQ(line_of(text + repeated(".x", 51)), 2) << end;
    EXPECT_EQ(line_of("local x = '\\z " + std::string(end) + "' return a" + repeated(".x", 51)), 2);
  }
}

TEST(SourceCheck, brackets_that_do_not_fit_are_left_to_Lua) {
  for (const char* const text : {")", "a)]}", "((((", "[[", "'", "--[[", "a[[[", "\\", "\"\\"})
    EXPECT_EQ(line_of(text), std::nullopt) << text;
}

TEST(SourceCheck, a_script_whose_error_would_take_all_of_the_stack_is_not_read) {
  Script script;
  const std::string start = "local a = {} a.x = a a[a] = a return a";
  for (const char* const text : {"", "'\\\r\n', ", "'\\\n\r', ", "'\\z\r\n', ", "[[\r]]['x'], "})
    for (const char* const part : {".x", "[a]", "['x']", "--[[]].x"})
      EXPECT_THAT(script
                      .error(start.substr(0, start.size() - 1) + text + "a" +
                             repeated(part, 90'000) + " + 1")
                      .problem,
                  HasSubstr("more than 50 fields, indices and methods in a row"));
}

}  // namespace
}  // namespace cupel
