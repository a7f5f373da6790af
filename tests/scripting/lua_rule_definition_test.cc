// What cupel.rule{...} takes, and which messages its mistakes have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/rules/rule_needs.h"
#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kInvoke = "invoke_at_step = function() end";

std::string rule_with(const std::string& entries) {
  return "return cupel.rule {\n" + entries + (entries.empty() ? "" : ", ") + kInvoke + " }";
}

Lines mistakes_of(const std::string& text) {
  const RuleFiles files;
  Lines mistakes;
  for (const RuleProblem& error : files.read(text).errors) mistakes.push_back(problem_text(error));
  return mistakes;
}

std::string kind_and_default(const Parameter& parameter) {
  return parameter.name + " " + std::string(to_string(parameter.kind)) + " " +
         (parameter.required ? "required" : parameter.default_text.value_or(""));
}

TEST(LuaRuleDefinition, has_name_summary_and_parameters_of_its_rule) {
  const RuleFiles files;
  const auto rule = files.rule(rule_with(
      "name = 'TooLarge', summary = 'too large', params = { b = 1, a = 'x' }, other_trials = 2"));
  EXPECT_EQ(rule->name, "TooLarge");
  EXPECT_EQ(rule->summary, "too large");
  EXPECT_EQ(rule->other_trials, 2U);
  EXPECT_EQ(rule->file, files.path("rule.lua"));
  EXPECT_FALSE(rule->edition.has_value());
  ASSERT_EQ(rule->parameters.size(), 2U);
  EXPECT_EQ(kind_and_default(rule->parameters[0]), "a text x");
  EXPECT_EQ(kind_and_default(rule->parameters[1]), "b int 1");
}

TEST(LuaRuleDefinition, a_rule_needs_a_name) {
  EXPECT_EQ(mistake_in(rule_with("")),
            "rule.lua:1: rule: name is not given, in \"return cupel.rule {\"");
}

TEST(LuaRuleDefinition, a_name_is_an_identifier) {
  for (const char* name : {"''", "'a b'", "'1a'", "'a-b'", "('x'):rep(65)", "'a\\0b'", "'\\xff'"})
    EXPECT_THAT(mistake_in(rule_with("name = " + std::string(name))),
                StartsWith("rule.lua:2: rule: name is to be letters, digits and '_'"))
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
              "rule.lua:3: " + mistake + ", in \"" + entries + ", " + kInvoke + " }\"");
}

TEST(LuaRuleDefinition, a_missing_invoke_at_step_is_reported_with_its_form) {
  EXPECT_THAT(mistake_in("return cupel.rule { name = 'R' }"),
              StartsWith("rule.lua:1: rule: invoke_at_step is not given: "
                         "function(self, trial, step) ... end"));
  EXPECT_THAT(mistake_in("return cupel.rule { name = 'R', invoke_at_step = 1 }"),
              HasSubstr("rule: invoke_at_step is a number, not a function"));
}

TEST(LuaRuleDefinition, an_unknown_entry_is_reported_with_the_nearest_known_one) {
  EXPECT_THAT(mistake_in(rule_with("name = 'R', parms = {}")),
              AllOf(HasSubstr("rule.lua:2: rule does not know parms, in"),
                    HasSubstr("; did you mean params?")));
  EXPECT_THAT(mistake_in(rule_with("name = 'R', colour = 1")),
              HasSubstr("rule does not know colour; it knows name, summary, params,"));
  EXPECT_THAT(mistake_in(rule_with("name = 'R', 5")),
              HasSubstr("rule takes names, and has an entry without one"));
}

TEST(LuaRuleDefinition, several_unknown_entries_are_reported_by_name) {
  for (int i = 0; i < 20; ++i)  // each state has an order of keys of its own
    EXPECT_THAT(
        mistakes_of(rule_with("name = 'R', zeta = 1, beta = 1, alpha = 1")),
        ElementsAre(HasSubstr("rule does not know alpha"), HasSubstr("rule does not know beta"),
                    HasSubstr("rule does not know zeta")));
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

TEST(LuaRuleDefinition, each_parameter_with_a_mistake_is_reported_by_name) {
  for (int i = 0; i < 20; ++i)
    EXPECT_THAT(mistakes_of(rule_with("name = 'R', params = { z = 1 / 0, a = {{}}, q = 0 / 0 }")),
                ElementsAre(HasSubstr("params.a is a list of"), HasSubstr("params.q is not finite"),
                            HasSubstr("params.z is not finite")));
}

TEST(LuaRuleDefinition, a_default_gives_a_parameter_its_kind) {
  const RuleFiles files;
  const auto rule = files.rule(rule_with(
      "name = 'R', params = { a = 1, b = 1.5, c = true, d = 'x', e = { 'x', 'y' }, f = { 1, 2.5 }, "
      "g = {}, h = { 'a,b', '[' }, i = { default = 1e-7, help = 'what it is' } }"));
  std::vector<std::string> all;
  for (const Parameter& parameter : rule->parameters) all.push_back(kind_and_default(parameter));
  EXPECT_THAT(all,
              ElementsAre("a int 1", "b float 1.5", "c bool True", "d text x", "e list x,y",
                          "f list 1,2.5", "g list []", "h list [\"a,b\",\"[\"]", "i float 1e-07"));
  EXPECT_EQ(rule->parameters.back().help, "what it is");
}

TEST(LuaRuleDefinition, a_parameter_without_default_has_a_kind_and_may_be_required) {
  const RuleFiles files;
  const auto rule = files.rule(
      rule_with("name = 'R', params = { a = { kind = 'int' }, b = { kind = 'float', required = "
                "true, above = 0 }, c = { kind = 'bool', required = false }, d = { kind = 'text', "
                "one_of = { 'x', 'y' } }, e = { kind = 'list', required = true } }"));
  std::vector<std::string> all;
  for (const Parameter& parameter : rule->parameters) all.push_back(kind_and_default(parameter));
  EXPECT_THAT(all,
              ElementsAre("a int ", "b float required", "c bool ", "d text ", "e list required"));
  EXPECT_TRUE(rule->parameters[1].range.open_below);
  EXPECT_THAT(rule->parameters[3].choices, ElementsAre("x", "y"));
}

TEST(LuaRuleDefinition, a_whole_default_may_be_of_the_kind_float) {
  const RuleFiles files;
  const auto rule =
      files.rule(rule_with("name = 'R', params = { a = { default = 5, kind = 'float' } }"));
  EXPECT_EQ(kind_and_default(rule->parameters[0]), "a float 5");
}

TEST(LuaRuleDefinition, a_type_is_a_kind_now) {
  for (const auto& [type, hint] :
       std::vector<std::pair<std::string, std::string>>{{"'float'", "kind = \"float\""},
                                                        {"'int'", "kind = \"int\""},
                                                        {"5", "kind = \"float\""}}) {
    const RuleFiles files;
    const RuleFile file = files.read(
        rule_with("name = 'R', params = {\nx = { type = " + type + ", at_least = 0 } }"));
    ASSERT_EQ(file.errors.size(), 1U) << type;
    EXPECT_EQ(file.errors[0].line, 3);
    EXPECT_THAT(file.errors[0].message,
                StartsWith("params.x does not know type; it knows default"));
    EXPECT_EQ(file.errors[0].hint, hint);
  }
}

TEST(LuaRuleDefinition, a_mistake_in_a_parameter_is_reported_with_its_name) {
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
      {"x = { default = 1, helpp = 'b' }", "params.x does not know helpp, in"},
      {"x = { default = 1, help = 5 }", "params.x: help is a number, not a text"},
      {"x = { default = 1, at_least = 'a' }", "params.x: at_least is a string, not a number"},
      {"x = { default = 1, at_least = 2 }", "params.x: default is 1, which is not legal itself"},
      {"x = { default = 1.0, above = 1 }", "params.x: default is 1, which is not legal itself"},
      {"x = { default = { 1, 5 }, at_most = 4 }",
       "params.x: default is 1,5, which is not legal itself"},
      {"x = { default = 1, at_least = 0, above = 0 }",
       "params.x: above and at_least exclude each other"},
      {"x = { default = 1, at_most = 9, below = 9 }",
       "params.x: below and at_most exclude each other"},
      {"x = { kind = 'int', at_least = 2, at_most = 1 }",
       "params.x: at_least leaves no legal number"},
      {"x = { kind = 'int', above = 0 / 0 }", "params.x: above leaves no legal number"},
      {"x = { default = 'a', at_least = 0 }", "params.x: at_least is for numbers"},
      {"x = { default = true, below = 0 }", "params.x: below is for numbers"},
      {"x = { default = 1, one_of = { 'a' } }", "params.x: one_of is for texts"},
      {"x = { default = 'c', one_of = { 'a', 'b' } }",
       "params.x: default is c, which is not among one_of"},
      {"x = { default = 1, kind = 'text' }",
       "params.x: kind is text, and the default is of the kind int"},
      {"x = { default = 1.5, kind = 'int' }",
       "params.x: kind is int, and the default is of the kind float"},
      {"x = { kind = 'number' }",
       R"(params.x: kind is to be "float", "int", "bool", "text" or "list")"},
      {"x = { kind = 1 }", "params.x: kind is a number, not a text"},
      {"x = { required = true }",
       "params.x: kind is not given; a parameter without default has a kind"},
      {"x = { default = 1, required = true }", "params.x: required and default exclude each other"},
      {"x = { kind = 'int', required = 1 }", "params.x: required is a number, not true or false"},
      {"x = { kind = 'bool', at_most = 1 }", "params.x: at_most is for numbers"},
      {"x = { default = 'a\\0b', one_of = { 'a' } }", "params.x: default is"},
      {"['a b'] = 1", "rule: params are names of letters, digits and '_' with their defaults"},
      {"1", "rule: params are names of letters, digits and '_' with their defaults"},
      {"other_trials = 1", "rule: params.other_trials is what names other runs"},
  };
  for (const auto& [declaration, mistake] : cases)
    EXPECT_THAT(parameter_mistake(declaration), StartsWith("rule.lua:2: " + mistake))
        << declaration;
}

// ---- needs ----

std::string needs_of(const std::string& needs, const RuleParameters& parameters = {}) {
  const RuleFiles files;
  return describe(files.rule(rule_with("name = 'R', params = { x = 'w' }, needs = " + needs))
                      ->needs(parameters));
}

TEST(LuaRuleDefinition, needs_name_tensors_and_what_is_read_of_them) {
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

TEST(LuaRuleDefinition, needs_have_a_number_of_steps_and_an_interval) {
  const RuleFiles files;
  const RuleNeeds needs =
      files.rule(rule_with("name = 'R', needs = { steps = 3, every = 50, any = true }"))->needs();
  EXPECT_EQ(needs.tensors.at(0).steps.value, 3);
  EXPECT_EQ(needs.tensors.at(0).at_least_every->value, 50);
  EXPECT_TRUE(needs.tensors.at(0).tensors.any_suffices);
}

TEST(LuaRuleDefinition, a_rule_without_needs_has_none) {
  const RuleFiles files;
  const auto rule = files.rule(rule_with("name = 'R'"));
  EXPECT_FALSE(rule->has_needs());
  EXPECT_TRUE(rule->needs().tensors.empty());
}

TEST(LuaRuleDefinition, mistakes_in_needs_are_found_when_the_file_is_read) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{ collection = 'a' }", "R: needs does not know collection, in"},
      {"{ collections = 5 }", "R: needs: collections is a number, not a text"},
      {"{ collections = { 'a', 5 } }", "R: needs: collections[2] is a number, not a text"},
      {"{ reductions = 'men' }", "R: needs: reductions: "},
      {"{ patterns = '(' }", "R: needs: patterns: The pattern does not compile: '('"},
      {"{ modes = 'TRIAN' }", "TRIAN"},
      {"{ steps = 0 }", "R: needs: steps is to be from 1 to 1000000000"},
      {"{ raw = 1 }", "R: needs: raw is a number, not true or false"},
      {"{ suffices = { 'raw' }, raw = true }", "R: needs: raw and suffices exclude each other"},
      {"{ suffices = 'raw' }", "R: needs: suffices is a string, not a list"},
      {"{ suffices = { {} } }", "R: needs: suffices[1] is an empty list of reductions"},
      {"{ suffices = { 'rawr' } }", "rawr"},
      {"{ { collections = 'a' }, 5 }", "R: needs[2] is a number, not a table"},
  };
  for (const auto& [needs, mistake] : cases)
    EXPECT_THAT(mistakes_of(rule_with("name = 'R', needs = " + needs)),
                ElementsAre(AllOf(StartsWith("rule.lua:2: "), HasSubstr(mistake))))
        << needs;
}

TEST(LuaRuleDefinition, a_mistake_in_what_a_function_of_needs_returns_has_its_line) {
  const RuleFiles files;
  for (const char* returned : {"5", "{ collection = 'a' }"}) {
    const auto rule = files.rule(
        rule_with("name = 'R',\nneeds = function() return " + std::string(returned) + " end"));
    EXPECT_THAT(error_of([&] { rule->needs(); }), StartsWith("rule.lua:3: R: needs ")) << returned;
  }
}

}  // namespace
}  // namespace cupel::testing
