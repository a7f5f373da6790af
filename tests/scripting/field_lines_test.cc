#include "../../scripting/src/field_lines.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace cupel {
namespace {

// The line in which a field is written, of the call in line `call_line`.
std::int64_t line_of(const std::string& script, const std::string& path, std::int64_t call_line = 1,
                     std::size_t ordinal = 0) {
  std::map<scripting_detail::RuleCall, scripting_detail::FieldLines> calls;
  calls[{call_line, ordinal}][path] = 0;
  scripting_detail::find_field_lines(script, calls);
  return calls.at({call_line, ordinal}).at(path);
}

TEST(FieldLines, a_field_is_found_where_its_key_is_written) {
  const std::string script =
      "return cupel.rule {\n"
      "  name = 'R',\n"
      "  ['summary'] = 'text',\n"
      "  params = {\n"
      "    threshold = { default = 1,\n"
      "                  at_least = 2 },\n"
      "    [\"other\"] = 3,\n"
      "  },\n"
      "  needs = { { steps = 1 }, {\n"
      "    raw = true } };\n"
      "  [ [==[on_end]==] ] = 5\n"
      "}\n";
  EXPECT_EQ(line_of(script, "name"), 2);
  EXPECT_EQ(line_of(script, "summary"), 3);
  EXPECT_EQ(line_of(script, "params"), 4);
  EXPECT_EQ(line_of(script, "params.threshold"), 5);
  EXPECT_EQ(line_of(script, "params.threshold.default"), 5);
  EXPECT_EQ(line_of(script, "params.threshold.at_least"), 6);
  EXPECT_EQ(line_of(script, "params.other"), 7);
  EXPECT_EQ(line_of(script, "needs.1.steps"), 9);
  EXPECT_EQ(line_of(script, "needs.2.raw"), 10);
  EXPECT_EQ(line_of(script, "on_end"), 11);
}

TEST(FieldLines, a_field_that_is_not_written_has_the_line_around_it) {
  const std::string script =
      "local shared = { x = 1 }\nreturn cupel.rule {\n  params = {\n    a = shared },\n"
      "  needs = shared }\n";
  EXPECT_EQ(line_of(script, "name", 2), 2);
  EXPECT_EQ(line_of(script, "params.a.default", 2), 4);
  EXPECT_EQ(line_of(script, "params.b", 2), 3);
  EXPECT_EQ(line_of(script, "needs.x", 2), 5);
  EXPECT_EQ(line_of("local t = { name = 1 }\nreturn cupel.rule(t)", "name", 2), 2);
}

TEST(FieldLines, what_is_inside_of_functions_and_brackets_is_no_field) {
  const std::string script =
      "return cupel.rule {\n"
      "  invoke_at_step = function(self, name)\n"
      "    local a, summary = 1, { name = 2 }\n"
      "    if a then for i = 1, 2 do a = i end elseif b then a = 2 end\n"
      "    while false do end repeat local name = 1, 2 until true\n"
      "    return function() return 1, 2 end\n"
      "  end,\n"
      "  on_end = (function(x, name) return x end),\n"
      "  [f(1, 2)] = g { 1, 2, name = 3 },\n"
      "  -- name = 'in a comment',\n"
      "  --[[ name = 'too',\n ]]\n"
      "  summary = 'name = 5, }' .. \"\\\"}\" .. [[ }, name = 1 ]],\n"
      "  name = 'R' }\n";
  EXPECT_EQ(line_of(script, "name"), 14);
  EXPECT_EQ(line_of(script, "summary"), 13);
  EXPECT_EQ(line_of(script, "on_end"), 8);
}

TEST(FieldLines, a_comparison_is_no_key) {
  EXPECT_EQ(line_of("return cupel.rule {\n a == 1, a ~= 2, a <= 3,\n a = 4 }", "a"), 3);
}

TEST(FieldLines, calls_in_one_line_are_told_apart_by_their_order) {
  const std::string script = "return { cupel.rule { name =\n 1 }, cupel.rule {\n name = 2 } }";
  EXPECT_EQ(line_of(script, "name", 1, 0), 1);
  EXPECT_EQ(line_of(script, "name", 2, 0), 3);
  const std::string twice = "return cupel.rule { a = 1 }, cupel.rule {\n a = 2 }";
  EXPECT_EQ(line_of(twice, "a", 1, 0), 1);
  EXPECT_EQ(line_of(twice, "a", 1, 1), 2);
  EXPECT_EQ(line_of(twice, "a", 1, 7), 2) << "a function that is called again";
}

TEST(FieldLines, the_table_may_be_in_parentheses_and_the_function_have_another_name) {
  EXPECT_EQ(line_of("return cupel.rule({\n name = 1 })", "name"), 2);
  EXPECT_EQ(line_of("local define = cupel.rule\nreturn define {\n name = 1 }", "name", 2), 3);
  EXPECT_EQ(line_of("return cupel.rule\n{\n name = 1 }", "name"), 3);
  EXPECT_EQ(line_of("return {\n name = 1 }", "name"), 1) << "is no call";
}

TEST(FieldLines, many_fields_are_found_in_one_search) {
  std::string script = "return cupel.rule {\n";
  std::map<scripting_detail::RuleCall, scripting_detail::FieldLines> calls;
  scripting_detail::FieldLines& fields = calls[{1, 0}];
  for (int i = 0; i < 100'000; ++i) script += "f" + std::to_string(i) + " = {{{}}},\n";
  for (int i = 0; i < 100; ++i) fields["f" + std::to_string(i * 1000)] = 0;
  scripting_detail::find_field_lines(script + "}", calls);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(fields["f" + std::to_string(i * 1000)], i * 1000 + 2);
}

TEST(FieldLines, fields_of_many_calls_are_found_in_one_search) {
  std::string script(500'000, ' ');
  std::map<scripting_detail::RuleCall, scripting_detail::FieldLines> calls;
  for (std::int64_t i = 0; i < 100; ++i) {
    script += "\ncupel.rule { a = 1,\n b = 2 } cupel.rule {\n b = 3, a = 4 }";
    for (const std::size_t ordinal : {0U, 1U, 2U})
      for (const char* const path : {"a", "b", "c"})
        calls[{3 * i + (ordinal == 1 ? 3 : 2), ordinal}][path];
  }
  const auto begin = std::chrono::steady_clock::now();
  scripting_detail::find_field_lines(script, calls);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  for (std::int64_t i = 0; i < 100; ++i) {
    const std::int64_t line = 3 * i + 2;
    EXPECT_EQ((calls[{line, 0}]),
              (scripting_detail::FieldLines{{"a", line}, {"b", line + 1}, {"c", line}}));
    EXPECT_EQ((calls[{line, 2}]), (calls[{line, 0}]));
    EXPECT_EQ((calls[{line + 1, 1}]),
              (scripting_detail::FieldLines{{"a", line + 2}, {"b", line + 2}, {"c", line + 1}}));
  }
}

TEST(FieldLines, calls_in_lines_that_follow_each_other_are_found) {
  const std::string script =
      "local rule = cupel.rule\nrule {\na = 1}\nrule {a = 1}\nrule {a = 1}\nrule\n{\na = 1}";
  std::map<scripting_detail::RuleCall, scripting_detail::FieldLines> calls;
  for (const std::int64_t line : {2, 4, 5, 6}) calls[{line, 0}]["a"] = 0;
  scripting_detail::find_field_lines(script, calls);
  EXPECT_EQ((calls[{2, 0}]["a"]), 3);
  EXPECT_EQ((calls[{4, 0}]["a"]), 4);
  EXPECT_EQ((calls[{5, 0}]["a"]), 5);
  EXPECT_EQ((calls[{6, 0}]["a"]), 8);
}

TEST(FieldLines, any_text_has_some_line) {
  for (const char* const text :
       {"", "rule {", "rule { a =", "rule { [", "rule { ['a'", "rule { ['a'] = ", "rule { a = {",
        "rule { a = function( , end }", "rule { ]]]] }", "rule { a = [[", "rule { --[==[ ",
        "rule { '", "rule {}}}}", "rule { end end, a }", "rule { [=[x] }", "rule({",
        "rule { a = \\ }"})
    EXPECT_EQ(line_of(text, "a.b"), 1) << text;
}

TEST(FieldLines, a_computed_key_ends_at_its_bracket) {
  for (const char* const key :
       {"1 <= 2 and 'b' or 'c'", "a >= 1", "a ~= t[1 <= 2]", "a == 1", "(f(1, 2))", "{ a = 1 }",
        " [[b]] .. 'c'", "function() return t[1] == 2, 3 end", "{ '}' }"}) {
    const std::string script =
        std::string("return cupel.rule {\n [") + key + "] = 'K',\n a = 1,\n params = {\n b = 2 } }";
    EXPECT_EQ(line_of(script, "a"), 3) << key;
    EXPECT_EQ(line_of(script, "params.b"), 5) << key;
    EXPECT_EQ(line_of(script, ""), 1) << key;
  }
}

TEST(FieldLines, lines_end_with_any_of_Luas_ends) {
  for (const std::string end : {"\n", "\r", "\r\n", "\n\r"})
    EXPECT_EQ(line_of("return cupel.rule {" + end + "a = [[" + end + "]]," + end + "b = 1 }", "b"),
              4);
}

}  // namespace
}  // namespace cupel
