// What cupel.rule{...} takes, and what its mistakes are told as.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/rules/rule_needs.h"
#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kInvoke = "invoke_at_step = function() end";

std::string rule_with(const std::string& entries) {
  return "return cupel.rule {\n" + entries + (entries.empty() ? "" : ", ") + kInvoke + " }";
}

std::string kind_and_default(const LuaRuleInfo::Parameter& parameter) {
  return parameter.name + " " + parameter.kind + " " + parameter.default_value;
}

TEST(LuaRuleDefinition, tells_name_summary_and_parameters_of_its_rule) {
  const RuleFiles files;
  const LuaRuleFile file = files.file(rule_with(
      "name = 'TooLarge', summary = 'too large', params = { b = 1, a = 'x' }, other_trials = 2"));
  const LuaRuleInfo& rule = file.rule();
  EXPECT_EQ(rule.name, "TooLarge");
  EXPECT_EQ(rule.summary, "too large");
  EXPECT_EQ(rule.other_trials, 2U);
  ASSERT_EQ(rule.parameters.size(), 2U);
  EXPECT_EQ(kind_and_default(rule.parameters[0]), "a text x");
  EXPECT_EQ(kind_and_default(rule.parameters[1]), "b int 1");
}

TEST(LuaRuleDefinition, a_rule_needs_a_name) {
  EXPECT_EQ(mistake_in(rule_with("")),
            "rule.lua:1: rule: name is not given, in \"return cupel.rule {\"");
}

TEST(LuaRuleDefinition, a_name_is_an_identifier) {
  for (const char* name : {"''", "'a b'", "'1a'", "'a-b'", "('x'):rep(65)", "'a\\0b'", "'\\xff'"})
    EXPECT_THAT(mistake_in(rule_with("name = " + std::string(name))),
                StartsWith("rule.lua:1: rule: name is to be letters, digits and '_'"))
        << name;
}

TEST(LuaRuleDefinition, an_entry_of_another_type_is_named_with_the_line) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"name = 1", "rule: name is a number, not a text"},
      {"name = 'R', summary = {}", "rule: summary is a table, not a text"},
      {"name = 'R', params = 1", "rule: params is a number, not a table of defaults by name"},
      {"name = 'R', needs = true", "rule: needs is a boolean, not a function or a table"},
      {"name = 'R', other_trials = 'x'", "rule: other_trials is a string, not a whole number"},
      {"name = 'R', other_trials = 1.5", "rule: other_trials is no whole number"},
      {"name = 'R', other_trials = -1", "rule: other_trials is to be from 0 to 100"},
      {"name = 'R', required = 1", "rule: required is a number, not a function"},
      {"name = 'R', on_tick = {}", "rule: on_tick is a table, not a function"},
      {"name = 'R', on_end = 'x'", "rule: on_end is a string, not a function"},
  };
  for (const auto& [entries, mistake] : cases)
    EXPECT_EQ(mistake_in("local x = 1\n" + rule_with(entries)),
              "rule.lua:2: " + mistake + ", in \"return cupel.rule {\"");
}

TEST(LuaRuleDefinition, without_invoke_at_step_says_what_it_is_to_be) {
  EXPECT_THAT(mistake_in("return cupel.rule { name = 'R' }"),
              StartsWith("rule.lua:1: rule: invoke_at_step is not given: "
                         "function(self, trial, step) ... end"));
  EXPECT_THAT(mistake_in("return cupel.rule { name = 'R', invoke_at_step = 1 }"),
              HasSubstr("rule: invoke_at_step is a number, not a function"));
}

TEST(LuaRuleDefinition, an_unknown_entry_is_told_with_the_nearest_known_one) {
  EXPECT_THAT(mistake_in(rule_with("name = 'R', parms = {}")),
              HasSubstr("rule.lua:1: rule does not know parms; did you mean params?"));
  EXPECT_THAT(mistake_in(rule_with("name = 'R', colour = 1")),
              HasSubstr("rule does not know colour; it knows name, summary, params,"));
  EXPECT_THAT(mistake_in(rule_with("name = 'R', 5")),
              HasSubstr("rule takes names, and has an entry without one"));
}

TEST(LuaRuleDefinition, of_several_unknown_entries_the_first_by_name_is_told) {
  for (int i = 0; i < 20; ++i)  // each state has an order of keys of its own
    EXPECT_THAT(mistake_in(rule_with("name = 'R', zeta = 1, beta = 1, alpha = 1, omega = 1")),
                HasSubstr("rule does not know alpha"));
}

TEST(LuaRuleDefinition, what_is_no_table_is_no_rule) {
  for (const char* argument : {"", "nil", "5", "'x'"})
    EXPECT_THAT(mistake_in("return cupel.rule(" + std::string(argument) + ")"),
                HasSubstr("rule takes a table"))
        << argument;
}

// ---- parameters ----

std::string parameter_mistake(const std::string& declaration) {
  return mistake_in(rule_with("name = 'R', params = { " + declaration + " }"));
}

TEST(LuaRuleDefinition, of_several_mistakes_of_parameters_the_first_by_name_is_told) {
  for (int i = 0; i < 20; ++i)
    EXPECT_THAT(parameter_mistake("z = 1 / 0, m = 0 / 0, a = 1 / 0, q = 1 / 0"),
                HasSubstr("params.a is not finite"));
}

TEST(LuaRuleDefinition, a_default_says_what_a_parameter_is) {
  const RuleFiles files;
  const LuaRuleFile file = files.file(rule_with(
      "name = 'R', params = { a = 1, b = 1.5, c = true, d = 'x', e = { 'x', 'y' }, f = { 1, 2.5 }, "
      "g = {}, h = { 'a,b', '[' }, i = { default = 1e-7, help = 'what it is' } }"));
  std::vector<std::string> all;
  for (const auto& parameter : file.rule().parameters) all.push_back(kind_and_default(parameter));
  EXPECT_THAT(all,
              ElementsAre("a int 1", "b float 1.5", "c bool True", "d text x", "e list x,y",
                          "f list 1,2.5", "g list ", "h list [\"a,b\",\"[\"]", "i float 1e-07"));
  EXPECT_EQ(file.rule().parameters.back().help, "what it is");
}

TEST(LuaRuleDefinition, a_parameter_without_default_names_its_type) {
  const RuleFiles files;
  const LuaRuleFile file = files.file(
      rule_with("name = 'R', params = { a = { type = 'int' }, b = { type = 'float' } }"));
  EXPECT_EQ(kind_and_default(file.rule().parameters[0]), "a int ");
  EXPECT_EQ(kind_and_default(file.rule().parameters[1]), "b float ");
}

TEST(LuaRuleDefinition, what_is_no_default_is_told_with_the_parameter) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"x = function() end",
       "params.x is a function; a default is a number, a text, true or false"},
      {"x = 1 / 0", "params.x is not finite"},
      {"x = 0 / 0", "params.x is not finite"},
      {"x = { {} }", "params.x is a list of texts, or of numbers"},
      {"x = { 1, 'a' }", "params.x is a list of texts, or of numbers"},
      {"x = { 'a', 1 }", "params.x is a list of texts, or of numbers"},
      {"x = { 'a', help = 'b' }", "params.x is a list that has names, too"},
      {"x = { help = 'b' }", "params.x is a table without default = ..."},
      {"x = { default = 1, helpp = 'b' }", "params.x does not know helpp; did you mean help?"},
      {"x = { default = 1, help = 5 }", "params.x: help is a number, not a text"},
      {"x = { default = 1, at_least = 'a' }", "params.x: at_least is a string, not a number"},
      {"x = { default = 1, at_least = 2 }", "params.x: default is 1, which is not legal itself"},
      {"x = { default = 1.0, above = 1 }", "params.x: default is 1, which is not legal itself"},
      {"x = { default = { 1, 5 }, at_most = 4 }",
       "params.x: default is 1,5, which is not legal itself"},
      {"x = { default = 1, at_least = 0, above = 0 }", "params.x: above and at_least are one too"},
      {"x = { default = 1, at_most = 9, below = 9 }", "params.x: below and at_most are one too"},
      {"x = { default = 'a', at_least = 0 }", "params.x: at_least is for numbers"},
      {"x = { default = true, below = 0 }", "params.x: below is for numbers"},
      {"x = { default = 1, one_of = { 'a' } }", "params.x: one_of is for texts"},
      {"x = { default = 'c', one_of = { 'a', 'b' } }",
       "params.x: default is c, which is not among one_of"},
      {"x = { default = 1, type = 'int' }", "params.x: type is that of the default"},
      {"x = { type = 'text' }", "params.x: type is to be \"float\" or \"int\""},
      {"x = { type = 1 }", "params.x: type is a number, not a text"},
      {"['a b'] = 1", "rule: params are names of letters, digits and '_' with their defaults"},
      {"1", "rule: params are names of letters, digits and '_' with their defaults"},
      {"other_trials = 1", "rule: params.other_trials is what names other runs"},
  };
  for (const auto& [declaration, mistake] : cases)
    EXPECT_THAT(parameter_mistake(declaration), HasSubstr("rule.lua:1: " + mistake)) << declaration;
}

// ---- needs ----

std::string needs_of(const std::string& needs, const RuleParameters& parameters = {}) {
  const RuleFiles files;
  return describe(files.file(rule_with("name = 'R', params = { x = 'w' }, needs = " + needs))
                      .needs("", parameters));
}

TEST(LuaRuleDefinition, needs_say_which_tensors_and_what_of_them) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "all tensors: any reduction, else raw values"},
      {"{ collections = 'gradients', reductions = 'abs_mean' }",
       "the collection gradients: abs_mean, else l1, else raw values"},
      {"{ collections = { 'a', 'b' }, patterns = { 'relu' }, raw = true }",
       "the collections a, b and names matching \"relu\": raw values"},
      {"{ raw = true, reductions = { 'l2' } }", "all tensors: raw values, often spared by l2"},
      {"{ counts = true }", "all tensors: counts, else raw values"},
      {"{ reductions = { 'min', 'max' } }", "all tensors: min and max, else raw values"},
      {"{ reductions = { 'mean' }, shape = true }", "all tensors: mean and shape, else raw values"},
      {"{ suffices = { 'counts', { 'min', 'max' }, 'raw' }, spares = { 'mean' } }",
       "all tensors: counts, else min and max, else raw values, often spared by mean"},
      {"{ modes = { 'train', 'GLOBAL' } }",
       "all tensors, of the steps of TRAIN, else all: any reduction, else raw values"},
      {"{ optional = true }", "if there are any, all tensors: any reduction, else raw values"},
      {"{ { collections = 'a' }, { collections = 'b' } }",
       "the collection a: any reduction, else raw values; "
       "the collection b: any reduction, else raw values"},
      {"function(params) return { patterns = params.x } end",
       "names matching \"w\": any reduction, else raw values"},
  };
  for (const auto& [needs, text] : cases) EXPECT_EQ(needs_of(needs), text) << needs;
}

TEST(LuaRuleDefinition, needs_that_are_a_function_follow_from_the_parameters) {
  EXPECT_EQ(needs_of("function(params) return { patterns = params.x } end", {{"x", "bias"}}),
            "names matching \"bias\": any reduction, else raw values");
}

TEST(LuaRuleDefinition, needs_say_how_many_steps_and_how_often) {
  const RuleFiles files;
  const RuleNeeds needs =
      files.file(rule_with("name = 'R', needs = { steps = 3, every = 50, any = true }")).needs("");
  EXPECT_EQ(needs.tensors.at(0).steps.value, 3);
  EXPECT_EQ(needs.tensors.at(0).at_least_every->value, 50);
  EXPECT_TRUE(needs.tensors.at(0).tensors.any_suffices);
}

TEST(LuaRuleDefinition, a_rule_without_needs_does_not_say) {
  const RuleFiles files;
  EXPECT_TRUE(files.file(rule_with("name = 'R'")).needs("").tensors.empty());
}

TEST(LuaRuleDefinition, mistakes_in_needs_are_found_when_the_file_is_read) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{ collection = 'a' }", "R: needs does not know collection; did you mean collections?"},
      {"{ collections = 5 }", "R: needs: collections is a number, not a text"},
      {"{ collections = { 'a', 5 } }", "R: needs: collections[2] is a number, not a text"},
      {"{ reductions = 'men' }", "men"},
      {"{ patterns = '(' }", "The pattern does not compile: '('"},
      {"{ modes = 'TRIAN' }", "TRIAN"},
      {"{ steps = 0 }", "R: needs: steps is to be from 1 to 1000000000"},
      {"{ raw = 1 }", "R: needs: raw is a number, not true or false"},
      {"{ suffices = { 'raw' }, raw = true }", "R: needs: raw is said by suffices, too"},
      {"{ suffices = 'raw' }", "R: needs: suffices is a string, not a list"},
      {"{ suffices = { {} } }", "R: needs: suffices[1] is an empty list of reductions"},
      {"{ suffices = { 'rawr' } }", "rawr"},
      {"{ { collections = 'a' }, 5 }", "R: needs[2] is a number, not a table"},
  };
  for (const auto& [needs, mistake] : cases) {
    const std::string told = mistake_in(rule_with("name = 'R', needs = " + needs));
    EXPECT_THAT(told, StartsWith("rule.lua:1: ")) << needs;
    EXPECT_THAT(told, HasSubstr(mistake)) << needs;
  }
}

TEST(LuaRuleDefinition, what_a_function_of_needs_returns_is_told_with_its_line) {
  const RuleFiles files;
  for (const char* returned : {"5", "{ collection = 'a' }"}) {
    const LuaRuleFile file = files.file(
        rule_with("name = 'R',\nneeds = function() return " + std::string(returned) + " end"));
    EXPECT_THAT(error_of([&] { file.needs(""); }), StartsWith("rule.lua:3: R: needs ")) << returned;
  }
}

}  // namespace
}  // namespace cupel::testing
