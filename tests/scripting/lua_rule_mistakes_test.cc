// All mistakes of a file of rules come at once, each with its line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

Lines mistakes_of_file(const RuleFiles& files, const std::string& text) {
  Lines mistakes;
  for (const RuleProblem& error : files.read(text).errors) mistakes.push_back(problem_text(error));
  return mistakes;
}
Lines mistakes_of_text(const std::string& text) { return mistakes_of_file(RuleFiles(), text); }

TEST(LuaRuleMistakes, five_mistakes_are_five_errors_with_their_lines) {
  const RuleFiles files;
  const RuleFile file = files.read(R"lua(
return cupel.rule {
  name = "Two Words",
  summery = "fires on nothing",
  params = {
    limit = { default = 5, at_least = 6 },
  },
  needs = {
    reductions = { "meen" },
  },
  invoke_at_step = function(self, trial, step)
    local x = tostrng(step)
  end,
}
)lua");
  EXPECT_THAT(file.definitions, IsEmpty());
  ASSERT_EQ(file.errors.size(), 5U);
  const std::vector<std::tuple<std::int64_t, std::string, std::string, std::string>> expected = {
      {3, "rule: name is to be letters, digits and '_'", "", "name = \"Two Words\","},
      {4, "rule does not know summery", "did you mean summary?", "summery = \"fires on nothing\","},
      {6, "params.limit: default is 5, which is not legal itself", "",
       "limit = { default = 5, at_least = 6 },"},
      {9, "rule: needs: reductions: ", "", "reductions = { \"meen\" },"},
      {12, "there is no global tostrng", "did you mean tostring?", "local x = tostrng(step)"},
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [line, message, hint, source] = expected[i];
    EXPECT_EQ(file.errors[i].file, files.path("rule.lua"));
    EXPECT_EQ(file.errors[i].line, line);
    EXPECT_THAT(file.errors[i].message, StartsWith(message));
    EXPECT_THAT(file.errors[i].message, Not(HasSubstr("did you mean")));
    EXPECT_EQ(file.errors[i].hint, hint);
    EXPECT_EQ(file.errors[i].source_line, source);
  }
}

TEST(LuaRuleMistakes, those_of_several_rules_come_in_the_order_of_their_lines) {
  EXPECT_THAT(mistakes_of_text("local function nothing() end\n"
                               "local bad = cupel.rule { name = 'Bad',\n"
                               "  on_end = 5, invoke_at_step = nothing }\n"
                               "local unused = cupel.rule { invoke_at_step = nothing }\n"
                               "return { cupel.rule {\n"
                               "    name = 'Bad', invoke_at_step = nothing }, bad,\n"
                               "  cupel.rule(5) }\n"),
              ElementsAre(StartsWith("rule.lua:2: the file returns two rules of the name Bad, in"),
                          StartsWith("rule.lua:3: rule: on_end is a number, not a function, in"),
                          StartsWith("rule.lua:4: rule: name is not given, in"),
                          StartsWith("rule.lua:7: rule takes a table, {name = ..., ...}, in")));
}

TEST(LuaRuleMistakes, a_default_that_no_user_could_write_is_one) {
  EXPECT_THAT(mistakes_of_text("return cupel.rule { name = 'R', params = { levels = { 1, 1/0 } },\n"
                               "  invoke_at_step = function() end }\n"),
              ElementsAre(HasSubstr("params.levels is 1,")));
}

TEST(LuaRuleMistakes, entries_that_are_no_rules_are_reported_each) {
  EXPECT_THAT(mistakes_of_text("return { 1, cupel.rule { name = 'R',\n"
                               "invoke_at_step = 2 }, {} }"),
              ElementsAre(HasSubstr("entry 1 was not made by cupel.rule"),
                          HasSubstr("entry 3 was not made by cupel.rule"),
                          StartsWith("rule.lua:2: rule: invoke_at_step is a number")));
}

TEST(LuaRuleMistakes, an_error_of_the_run_comes_with_those_of_the_rules_before_it) {
  EXPECT_THAT(mistakes_of_text("local r = cupel.rule {\n"
                               "  name = 'R', colour = 1, invoke_at_step = print }\n"
                               "local x = nil + 1\n"
                               "local s = cupel.rule { name = 'S' }\n"
                               "return tostrng(r)"),
              ElementsAre(StartsWith("rule.lua:2: rule does not know colour; it knows name"),
                          StartsWith("rule.lua:3: attempt to perform arithmetic on a nil value")));
}

TEST(LuaRuleMistakes, each_use_of_a_missing_global_is_an_error) {
  EXPECT_THAT(mistakes_of_text("local function f() return tostrng(1) end\n" +
                               rule_text("count = 1\nlocal x = tostrng(2)")),
              ElementsAre(StartsWith("rule.lua:1: there is no global tostrng, in"),
                          StartsWith("rule.lua:2: count is a new global; write local before it"),
                          StartsWith("rule.lua:3: there is no global tostrng, in")));
}

TEST(LuaRuleMistakes, those_of_a_module_have_its_file_and_line) {
  const RuleFiles files;
  files.write("parts.lua",
              "local parts = {}\nfunction parts.rule(name)\n  return cupel.rule {\n"
              "    name = name,\n    nme = 5,\n    invoke_at_step = function() prnt() end }\nend\n"
              "return parts");
  const RuleFile file = files.read(
      "local parts = require 'parts'\n"
      "return parts.rule('A'), parts.rule 'A'\n");
  ASSERT_EQ(file.errors.size(), 3U);
  for (const RuleProblem& error : file.errors) EXPECT_EQ(error.file, files.path("parts.lua"));
  EXPECT_EQ(problem_text(file.errors[0]),
            "parts.lua:4: the file returns two rules of the name A, in \"name = name,\"");
  EXPECT_EQ(problem_text(file.errors[1]),
            "parts.lua:5: rule does not know nme, in \"nme = 5,\"; did you mean name?");
  EXPECT_THAT(problem_text(file.errors[2]), StartsWith("parts.lua:6: there is no global prnt"));
}

TEST(LuaRuleMistakes, those_of_a_file_with_a_long_name_have_its_path_and_line) {
  const RuleFiles files;
  const std::string path =
      files.write(std::string(100, 'a') + ".lua", "local x\nlocal y = x.y\nreturn cupel.rule {}");
  const RuleFile file = read_lua_rules(path);
  ASSERT_EQ(file.errors.size(), 1U);
  EXPECT_EQ(file.errors[0].file, path);
  EXPECT_EQ(file.errors[0].line, 2);
  EXPECT_EQ(file.errors[0].source_line, "local y = x.y");
}

TEST(LuaRuleMistakes, a_place_that_a_script_invents_is_part_of_the_message) {
  const RuleFiles files;
  const RuleFile file = files.read("error('/etc/passwd:5: look here', 0)");
  ASSERT_EQ(file.errors.size(), 1U);
  EXPECT_EQ(file.errors[0].file, files.path("rule.lua"));
  EXPECT_EQ(file.errors[0].line, 0);
  EXPECT_EQ(file.errors[0].message, "/etc/passwd:5: look here");
}

TEST(LuaRuleMistakes, a_misspelt_key_is_one_mistake) {
  EXPECT_THAT(mistakes_of_text("return cupel.rule {\n nane = 'R',\n invoke_at_stp = print }"),
              ElementsAre(StartsWith("rule.lua:2: rule does not know nane, in"),
                          StartsWith("rule.lua:3: rule does not know invoke_at_stp, in")));
}

TEST(LuaRuleMistakes, fields_that_are_not_written_in_the_call_have_its_line) {
  EXPECT_THAT(mistakes_of_text("local t = { name = 'R' }\n\nt.colour = 1\nreturn cupel.rule(t)"),
              ElementsAre(StartsWith("rule.lua:4: rule does not know colour"),
                          StartsWith("rule.lua:4: rule: invoke_at_step is not given")));
}

TEST(LuaRuleMistakes, the_line_of_one_is_cut_between_characters_and_ends_as_for_Lua) {
  std::string wide = " ";
  for (int i = 0; i < 300; ++i) wide += "\xC3\xA9";
  const RuleFiles files;
  for (const std::string end : {"\n", "\r", "\r\n", "\n\r"})
    for (const std::string start : {"x(", "xy("}) {
      const RuleFile file = files.read("local a" + end + end + start + "--" + wide);
      ASSERT_EQ(file.errors.size(), 1U);
      const std::string& line = file.errors[0].source_line;
      EXPECT_EQ(file.errors[0].line, 3);
      EXPECT_THAT(line, StartsWith(start + "--"));
      EXPECT_THAT(line, ::testing::EndsWith("\xC3\xA9..."));
    }
}

// ---- what a hostile file can do ----

TEST(LuaRuleMistakes, a_hundred_are_reported_and_the_others_are_counted) {
  const auto mistakes = mistakes_of_text(
      "local t = { name = 'R', invoke_at_step = function() end }\n"
      "for i = 1, 100000 do t[('%06d'):format(i)] = i end\n"
      "return cupel.rule(t)");
  ASSERT_EQ(mistakes.size(), 101U);
  EXPECT_THAT(mistakes.front(), StartsWith("rule.lua:3: rule does not know 000001; it knows"));
  EXPECT_THAT(mistakes[99], StartsWith("rule.lua:3: rule does not know 000100; it knows"));
  EXPECT_EQ(mistakes.back(), "rule.lua: and 99900 more mistakes");
}

TEST(LuaRuleMistakes, those_of_many_fields_in_the_text_are_found_in_time) {
  const auto seconds_for = [](int fields, Lines& mistakes) {
    std::string text = "return cupel.rule {\n";
    for (int i = 0; i < fields; ++i) text += "f" + std::to_string(100'000 + i) + " = {{},{}},\n";
    text += "name = 'R', invoke_at_step = function() end }";
    std::chrono::duration<double> least(1e9);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      mistakes = mistakes_of_text(text);
      least =
          std::min<std::chrono::duration<double>>(least, std::chrono::steady_clock::now() - begin);
    }
    return least.count();
  };
  Lines mistakes;
  const double few = seconds_for(5'000, mistakes);
  // Eight times as many fields; 64 times as long would be a search that is quadratic.
  EXPECT_LT(seconds_for(40'000, mistakes), 32 * few);
  ASSERT_EQ(mistakes.size(), 101U);
  EXPECT_THAT(mistakes[98], StartsWith("rule.lua:100: rule does not know f100098"));
  EXPECT_EQ(mistakes.back(), "rule.lua: and 39900 more mistakes");
}

TEST(LuaRuleMistakes, those_of_many_rules_are_bounded) {
  const auto mistakes = mistakes_of_text(
      "local rules = {}\nfor i = 1, 100 do rules[i] = cupel.rule {\n"
      "  name = 5, ['a' .. i] = 1, b = 2, invoke_at_step = print } end\nreturn rules");
  ASSERT_THAT(mistakes, SizeIs(2 + 34 + 1)) << "the first hundred, of which many are the same";
  EXPECT_EQ(mistakes.back(), "rule.lua: and 200 more mistakes");
}

TEST(LuaRuleMistakes, a_file_that_makes_too_many_rules_is_refused) {
  const auto mistakes = mistakes_of_text(
      "local r\nfor i = 1, 102 do\n  r = cupel.rule { name = 'R' .. i, invoke_at_step = print }\n"
      "end\nreturn r");
  EXPECT_THAT(mistakes, ElementsAre(StartsWith("rule.lua:3: the file makes more than 100 rules")));
}

TEST(LuaRuleMistakes, huge_names_are_cut) {
  const auto mistakes = mistakes_of_text(
      "local huge = ('x'):rep(1000000)\n"
      "return cupel.rule { name = huge, [huge] = 1, params = { [huge] = 1, a = { default = 1,\n"
      "  [huge] = 2 } }, needs = { [huge] = 1, patterns = '(' .. huge, modes = huge,\n"
      "  reductions = huge:sub(1, 1000), collections = { huge } }, invoke_at_step = print }");
  EXPECT_THAT(mistakes, SizeIs(9));
  for (const std::string& mistake : mistakes) EXPECT_LT(mistake.size(), 2500U);
}

TEST(LuaRuleMistakes, nested_tables_are_no_way_out) {
  const auto mistakes = mistakes_of_text(
      "local t = {}\nfor i = 1, 100000 do t = { t } end\n"
      "return cupel.rule { name = t, summary = t, params = { a = t, b = { default = t } },\n"
      "needs = t, on_end = t, invoke_at_step = t }");
  EXPECT_THAT(mistakes, SizeIs(7));
  std::string text = "return cupel.rule { name = ";
  for (int i = 0; i < 150; ++i) text += "{ name = ";
  text += "1";
  for (int i = 0; i < 150; ++i) text += "}";
  EXPECT_THAT(mistakes_of_text(text + " }"), SizeIs(2));
}

}  // namespace
}  // namespace cupel::testing
