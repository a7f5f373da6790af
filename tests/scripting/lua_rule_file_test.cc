// Which rules a file has, what it may require, and what files there are that are none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "scripting/lua_rule_fixture.h"
#include "store/directory_scheme.h"

namespace cupel::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kInvokeNothing = "invoke_at_step = function() end";

std::string rule_file_with(const std::string& entries) {
  return "return cupel.rule {\n" + entries + (entries.empty() ? "" : ", ") + kInvokeNothing + " }";
}

// ---- several rules, and which is meant ----

constexpr const char* kTwoRules =
    "local function nothing() end\n"
    "return { cupel.rule { name = 'FirstOne', invoke_at_step = nothing },\n"
    "         cupel.rule { name = 'second', invoke_at_step = nothing } }";

TEST(LuaRuleFile, has_its_rules_in_the_order_of_the_list) {
  const RuleFiles files;
  const RuleFile file = files.read(kTwoRules);
  ASSERT_EQ(file.definitions.size(), 2U);
  EXPECT_EQ(file.definitions[0]->name, "FirstOne");
  EXPECT_EQ(file.definitions[1]->name, "second");
}

TEST(LuaRuleFile, may_return_its_rules_one_after_another) {
  const RuleFiles files;
  const RuleFile file = files.read(
      "local function nothing() end\n"
      "return cupel.rule { name = 'A', invoke_at_step = nothing },\n"
      "       cupel.rule { name = 'B', invoke_at_step = nothing }");
  ASSERT_EQ(file.definitions.size(), 2U);
  EXPECT_EQ(file.definitions[1]->name, "B");
}

TEST(LuaRuleFile, what_is_no_rule_is_refused) {
  EXPECT_THAT(mistake_in(""), StartsWith("rule.lua: the file returns nothing; it is to end with "
                                         "return cupel.rule{...}"));
  EXPECT_THAT(mistake_in("return 5"), HasSubstr("the file returns a number"));
  EXPECT_THAT(mistake_in("return {}"),
              HasSubstr("the file returns a table that cupel.rule did not make"));
  EXPECT_THAT(mistake_in("return { name = 'R', invoke_at_step = print }"),
              HasSubstr("the file returns a table that cupel.rule did not make"));
  EXPECT_THAT(
      mistake_in("return { cupel.rule { name = 'R', " + std::string(kInvokeNothing) + " }, 5 }"),
      HasSubstr("a list of which entry 2 was not made by cupel.rule"));
}

TEST(LuaRuleFile, two_rules_of_one_name_are_refused) {
  EXPECT_THAT(mistake_in("local r = cupel.rule { name = 'R', " + std::string(kInvokeNothing) +
                         " } return { r, r }"),
              HasSubstr("the file returns two rules of the name R"));
}

TEST(LuaRuleFile, what_was_changed_behind_cupel_rule_is_checked_again) {
  EXPECT_THAT(mistake_in("local r = cupel.rule { name = 'R', " + std::string(kInvokeNothing) +
                         " } r.name = 5 return r"),
              HasSubstr("rule: name is a number, not a text"));
}

// ---- mistakes of Lua ----

TEST(LuaRuleFile, a_mistake_in_lua_is_reported_with_line_and_source) {
  EXPECT_EQ(mistake_in("local x = 1\n  local y = = 2\n"),
            "rule.lua:2: unexpected symbol near '=', in \"local y = = 2\"");
  EXPECT_EQ(mistake_in("local x\n\n\tx.y = 1"),
            "rule.lua:3: attempt to index a nil value (local 'x'), in \"x.y = 1\"");
}

TEST(LuaRuleFile, a_misspelt_global_is_reported_with_the_nearest_one) {
  EXPECT_THAT(mistake_in("return cupell.rule {}"),
              StartsWith("rule.lua:1: there is no global cupell, in \"return cupell.rule {}\"; did "
                         "you mean cupel?"));
}

TEST(LuaRuleFile, a_limit_holds_while_the_file_is_read) {
  const RuleFiles files;
  const std::string path = files.write("rule.lua", "\nwhile true do end");
  EXPECT_EQ(errors_text(read_lua_rules(path, {.instructions = 10'000})),
            "rule.lua:2: the limit of 10000 instructions is reached, in \"while true do end\"");
}

TEST(LuaRuleFile, is_read_by_the_schemes_that_are_passed) {
  const RuleFiles files;
  const std::string location = "dir://" + files.write("rule.lua", rule_file_with("name = 'Far'"));
  const StoreSchemes schemes = {directory_scheme()};
  EXPECT_EQ(lua_rule_reader({}, schemes).read(location).definitions.at(0)->name, "Far");
  EXPECT_THAT(errors_text(read_lua_rules(location)), HasSubstr("cannot open dir:// locations"));
}

// ---- require ----

TEST(LuaRuleFile, requires_modules_beside_it) {
  const RuleFiles files;
  files.write("names.lua", "return { rule = 'FromModule' }");
  EXPECT_EQ(
      files.rule("local names = require 'names'\n" + rule_file_with("name = names.rule"))->name,
      "FromModule");
}

TEST(LuaRuleFile, a_module_is_run_once_and_may_require_others) {
  const RuleFiles files;
  files.write("counter.lua", "return { count = 0 }");
  files.write("one.lua", "local c = require 'counter' c.count = c.count + 1 return c");
  EXPECT_EQ(files
                .rule("require 'one' require 'one' local c = require 'counter'\n" +
                      rule_file_with("name = 'Ran' .. c.count"))
                ->name,
            "Ran1");
}

TEST(LuaRuleFile, a_mistake_in_a_module_is_reported_with_its_own_line_and_source) {
  const RuleFiles files;
  files.write("broken.lua", "local x = 1\nreturn x +\n");
  EXPECT_THAT(errors_text(files.read("require 'broken'")),
              StartsWith("broken.lua:3: unexpected symbol near <eof>"));
  files.write("broken.lua", "local x\nreturn x.y\n");
  EXPECT_EQ(errors_text(files.read("require 'broken'")),
            "broken.lua:2: attempt to index a nil value (local 'x'), in \"return x.y\"");
}

TEST(LuaRuleFile, modules_that_require_each_other_are_refused) {
  const RuleFiles files;
  files.write("a.lua", "require 'b'");
  files.write("b.lua", "return require 'a'");
  EXPECT_EQ(errors_text(files.read("require 'a'")),
            "b.lua:1: the module a requires itself, in \"return require 'a'\"");
}

TEST(LuaRuleFile, a_module_that_is_not_there_is_reported_with_its_path) {
  const RuleFiles files;
  EXPECT_EQ(
      errors_text(files.read("require 'absent'")),
      "rule.lua:1: there is no file " + files.path("absent.lua") + ", in \"require 'absent'\"");
}

TEST(LuaRuleFile, modules_come_from_its_own_folder_only) {
  const RuleFiles files;
  fs::create_directory(files.path("rules"));
  files.write("outside.lua", "return 1");
  for (const char* module : {"../outside", "/etc/passwd", "rules.x", "rules/x", "..", ""}) {
    files.write("rules/rule.lua", "require '" + std::string(module) + "'");
    EXPECT_THAT(errors_text(read_lua_rules(files.path("rules/rule.lua"))),
                HasSubstr("a module's name is letters, digits and '_'"))
        << module;
  }
}

TEST(LuaRuleFile, a_module_that_is_a_link_is_not_followed) {
  const RuleFiles files;
  fs::create_symlink("/etc/passwd", files.path("linked.lua"));
  EXPECT_THAT(errors_text(files.read("require 'linked'")),
              HasSubstr("linked.lua is a link, and leads to no file here"));
}

TEST(LuaRuleFile, a_link_to_it_finds_the_modules_beside_the_file_itself) {
  const RuleFiles files;
  fs::create_directory(files.path("real"));
  files.write("real/names.lua", "return 'Linked'");
  files.write("real/rule.lua", "local name = require 'names'\n" + rule_file_with("name = name"));
  fs::create_symlink("real/rule.lua", files.path("link.lua"));
  EXPECT_EQ(lua_rule(files.path("link.lua"))->name, "Linked");
}

// ---- files of all kinds ----

TEST(LuaRuleFile, a_mark_of_utf8_a_shells_line_and_line_ends_of_windows_are_fine) {
  const RuleFiles files;
  for (const std::string begin : {"\xEF\xBB\xBF", "#!/usr/bin/env lua\n", "\xEF\xBB\xBF#!x\r\n"})
    EXPECT_EQ(files.rule(begin + "local x = 1\r\n" + rule_file_with("name = 'R'"))->name, "R")
        << begin;
}

TEST(LuaRuleFile, lines_are_counted_the_same_behind_them) {
  EXPECT_EQ(mistake_in("\xEF\xBB\xBF#!lua\r\nlocal y\r\n  y.z = 1\r\n"),
            "rule.lua:3: attempt to index a nil value (local 'y'), in \"y.z = 1\"");
}

TEST(LuaRuleFile, bytecode_is_refused) {
  EXPECT_THAT(mistake_in("\x1bLua\x54"), HasSubstr("attempt to load a binary chunk"));
}

TEST(LuaRuleFile, what_is_no_file_is_reported_as_what_it_is) {
  const RuleFiles files;
  fs::create_directory(files.path("folder.lua"));
  ASSERT_EQ(::mkfifo(files.path("pipe.lua").c_str(), 0600), 0);
  fs::create_symlink("nowhere.lua", files.path("dangling.lua"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"absent.lua", "there is no file " + files.path("absent.lua")},
      {"absent/rule.lua", "there is no file " + files.path("absent/rule.lua")},
      {"folder.lua", files.path("folder.lua") + " is a directory, not a file of rules"},
      {"pipe.lua", files.path("pipe.lua") + " is no regular file"},
      {"dangling.lua", files.path("dangling.lua") + " is a link, and leads to no file here"},
  };
  for (const auto& [name, mistake] : cases) {
    const std::string path = files.path(name);
    const std::vector<RuleProblem> errors = read_lua_rules(path).errors;
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].file, path);
    EXPECT_EQ(errors[0].message, mistake);
    EXPECT_EQ(to_text(errors[0]), mistake);
  }
  EXPECT_EQ(read_lua_rules(std::string("a\0b.lua", 7)).errors.size(), 1U);
  EXPECT_EQ(read_lua_rules("").errors.size(), 1U);
}

TEST(LuaRuleFile, a_huge_file_is_refused_unread) {
  const RuleFiles files;
  const std::string path = files.write("rule.lua", "return 1");
  fs::resize_file(path, std::uintmax_t{1} << 40U);
  EXPECT_THAT(errors_text(read_lua_rules(path)), HasSubstr("cannot be read: "));
}

TEST(LuaRuleFile, a_relative_path_is_from_the_working_directory) {
  const RuleFiles files;
  const std::string path = files.write("rule.lua", rule_file_with("name = 'R'"));
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(path).parent_path());
  const std::string name = lua_rule("rule.lua")->name;
  fs::current_path(before);
  EXPECT_EQ(name, "R");
}

// ---- what it held stays what it runs ----

TEST(LuaRuleFile, a_file_that_changes_is_run_as_it_was) {
  const RuleFiles files;
  files.write("names.lua", "return 'Before'");
  const auto rule = files.rule("local name = require 'names'\n" + rule_file_with("name = name"));
  files.write("names.lua", "return 'After'");
  files.write("rule.lua", "return 5");
  const MemoryRun run;
  run.worker().save_steps({0}).finish();
  Trial trial = run.open();
  const auto first = rule->make(trial);
  EXPECT_EQ(rule->make(trial)->rule_name(), "Before");
}

TEST(LuaRuleFile, its_fingerprint_is_of_its_text_and_of_its_modules) {
  const RuleFiles files;
  files.write("names.lua", "return 'R'");
  const std::string text = "local name = require 'names'\n" + rule_file_with("name = name");
  const std::string first = files.rule(text)->fingerprint;
  EXPECT_EQ(files.rule(text)->fingerprint, first);
  EXPECT_NE(files.rule(text + " ")->fingerprint, first);
  files.write("names.lua", "return 'R' ");
  EXPECT_NE(files.rule(text)->fingerprint, first);
}

}  // namespace
}  // namespace cupel::testing
