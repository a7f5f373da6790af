// What a rule in Lua sees of its parameters, and what of them is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripting/lua_rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kParameters =
    "params = { number = 1.5, whole = 10, flag = false, text = 'x', texts = { 'a', 'b' }, "
    "numbers = { 1, 2.5 }, bounded = { default = 5, at_least = 1, at_most = 9 }, "
    "open = { default = 5.0, above = 0, below = 100 }, "
    "choice = { default = 'A', one_of = { 'A', 'B' } }, maybe = { kind = 'int', at_least = 1 }, "
    "empty = '', none = {} }";

// How a rule sees one of them.
std::string parameter(const std::string& name, const RuleParameters& given = {}) {
  const std::string body = "local p = self.params." + name +
                           " local text = type(p) == 'table' and table.concat(p, ';') or "
                           "math.type(p) or type(p) "
                           "self:issue { tensor = 'p', message = text .. ' ' .. "
                           "(type(p) == 'table' and #p or tostring(p)) }";
  return JudgedRule(losses(1), rule_text(body, kParameters), given)
      .verdict(0)
      .findings()
      .at(0)
      .message;
}
std::string refused(const RuleParameters& given) {
  const RuleFiles files;
  const auto rule = files.rule(rule_text("", kParameters));
  return error_of([&] { rule->needs(given); });
}

TEST(LuaRuleParameters, parameters_that_are_not_given_are_their_defaults) {
  EXPECT_EQ(parameter("number"), "float 1.5");
  EXPECT_EQ(parameter("whole"), "integer 10");
  EXPECT_EQ(parameter("flag"), "boolean false");
  EXPECT_EQ(parameter("text"), "string x");
  EXPECT_EQ(parameter("texts"), "a;b 2");
  EXPECT_EQ(parameter("numbers"), "1.0;2.5 2");
  EXPECT_EQ(parameter("maybe"), "nil nil");
  EXPECT_EQ(parameter("empty"), "string ");
  EXPECT_EQ(parameter("none"), " 0");
}

TEST(LuaRuleParameters, a_parameter_that_is_not_declared_is_an_error_that_names_the_nearest) {
  EXPECT_THAT(mistake("if self.params.treshold then end", "params = { threshold = 1 }"),
              HasSubstr("rule.lua:1: self.params has no parameter treshold; did you mean "
                        "threshold?"));
  EXPECT_THAT(mistake("if self.params.threshold then end"),
              HasSubstr("self.params has no parameter threshold, in"));
  const RuleFiles files;
  const auto rule = files.rule(rule_text(
      "", "params = { share = 1 }, needs = function(p) return { collections = { p.shar } } end"));
  EXPECT_THAT(error_of([&] { rule->needs(); }), HasSubstr("did you mean share?"));
}

TEST(LuaRuleParameters, empty_text_and_none_mean_not_given) {
  for (const char* text : {"", " ", "None"}) {
    EXPECT_EQ(parameter("whole", {{"whole", text}}), "integer 10") << text;
    EXPECT_EQ(parameter("text", {{"text", text}}), "string x") << text;
    EXPECT_EQ(parameter("maybe", {{"maybe", text}}), "nil nil") << text;
  }
}

TEST(LuaRuleParameters, the_type_of_the_default_converts_what_is_given) {
  EXPECT_EQ(parameter("number", {{"number", " 1e-6 "}}), "float 1e-06");
  EXPECT_EQ(parameter("number", {{"number", "3"}}), "float 3.0");
  EXPECT_EQ(parameter("whole", {{"whole", "-3"}}), "integer -3");
  EXPECT_EQ(parameter("whole", {{"whole", "10.0"}}), "integer 10");
  EXPECT_EQ(parameter("whole", {{"whole", "9007199254740993"}}), "integer 9007199254740993");
  for (const char* text : {"True", "true", "1"})
    EXPECT_EQ(parameter("flag", {{"flag", text}}), "boolean true") << text;
  EXPECT_EQ(parameter("text", {{"text", "a,b"}}), "string a,b");
  EXPECT_EQ(parameter("texts", {{"texts", " c , d,e"}}), "c;d;e 3");
  EXPECT_EQ(parameter("texts", {{"texts", R"(["c,d"])"}}), "c,d 1");
  EXPECT_EQ(parameter("numbers", {{"numbers", "(3, 4)"}}), "3.0;4.0 2");
  EXPECT_EQ(parameter("choice", {{"choice", "b"}}), "string B");
  EXPECT_EQ(parameter("maybe", {{"maybe", "7"}}), "integer 7");
}

TEST(LuaRuleParameters, what_cannot_be_converted_is_reported_with_what_is_legal) {
  const std::vector<std::pair<RuleParameters, std::string>> cases = {
      {{{"number", "x"}}, "parameter number is \"x\"; legal is a finite number (default 1.5)"},
      {{{"number", "inf"}}, "parameter number is \"inf\"; legal is a finite number (default 1.5)"},
      {{{"number", "nan"}}, "parameter number is \"nan\"; legal is a finite number (default 1.5)"},
      {{{"whole", "1.5"}}, "parameter whole is \"1.5\"; legal is a whole number (default 10)"},
      {{{"whole", "x"}}, "parameter whole is \"x\"; legal is a whole number (default 10)"},
      {{{"flag", "maybe"}}, "parameter flag is \"maybe\"; legal is True or False (default False)"},
      {{{"numbers", "1,x"}},
       "parameter numbers is \"1,x\"; legal is a list of numbers, each a finite number (default "
       "1,2.5)"},
      {{{"bounded", "0"}}, "parameter bounded is \"0\"; legal is a whole number >= 1 (default 5)"},
      {{{"bounded", "10"}},
       "parameter bounded is \"10\"; legal is a whole number <= 9 (default 5)"},
      {{{"open", "0"}}, "parameter open is \"0\"; legal is a number > 0 and < 100 (default 5)"},
      {{{"open", "100"}}, "parameter open is \"100\"; legal is a number > 0 and < 100 (default 5)"},
      {{{"choice", "C"}}, "parameter choice is \"C\"; legal is A, B (default A)"},
      {{{"maybe", "0"}}, "parameter maybe is \"0\"; legal is a whole number >= 1"},
      {{{"nmber", "1"}}, "unknown parameter \"nmber\"; did you mean number or numbers?"},
  };
  for (const auto& [given, text] : cases) EXPECT_EQ(refused(given), "R: " + text);
}

TEST(LuaRuleParameters, a_required_parameter_has_to_be_given) {
  const RuleFiles files;
  const auto rule = files.rule(rule_text(
      "", "params = { limit = { kind = 'float', required = true, help = 'the largest loss' } }"));
  EXPECT_TRUE(rule->parameters.at(0).required);
  EXPECT_EQ(rule->mistakes_in({}).size(), 1U);
  EXPECT_THROW(rule->needs(), InsufficientInformationForRuleInvocation);
  EXPECT_EQ(rule->mistakes_in({{"limit", "3"}}).size(), 0U);
}

TEST(LuaRuleParameters, all_mistakes_in_parameters_are_reported_at_once) {
  EXPECT_EQ(refused({{"whole", "x"}, {"flag", "y"}, {"colour", "red"}}),
            "R: parameter flag is \"y\"; legal is True or False (default False)\n"
            "R: parameter whole is \"x\"; legal is a whole number (default 10)\n"
            "R: unknown parameter \"colour\"; the rule takes bounded, choice, empty, flag, maybe, "
            "none, number, numbers, open, text, texts, whole");
}

TEST(LuaRuleParameters, an_empty_text_is_a_default_of_the_schema) {
  const RuleFiles files;
  const auto rule =
      files.rule(rule_text("", "params = { a = '', b = { default = '', one_of = { 'x' } } }"));
  ASSERT_EQ(rule->parameters.size(), 2U);
  for (const Parameter& parameter : rule->parameters) EXPECT_EQ(parameter.default_text, "");
}

TEST(LuaRuleParameters, a_range_without_a_legal_number_is_refused) {
  const auto refused = [](const std::string& range) {
    return mistake_in(rule_text("", "params = { a = { required = true, " + range + " } }"));
  };
  const std::string key = "params.a: ";
  EXPECT_THAT(refused("kind = 'float', above = 1, below = 1"),
              HasSubstr(key + "above leaves no legal number"));
  EXPECT_THAT(refused("kind = 'float', at_least = 1, below = 1"),
              HasSubstr(key + "at_least leaves no legal number"));
  EXPECT_THAT(refused("kind = 'int', at_least = 0.5, at_most = 0.7"),
              HasSubstr(key + "at_least leaves no legal number"));
  EXPECT_THAT(refused("kind = 'int', above = 1, below = 2"),
              HasSubstr(key + "above leaves no legal number"));
  EXPECT_THAT(refused("kind = 'int', at_most = -1e300"),
              HasSubstr(key + "at_most leaves no legal number"));
  for (const char* range :
       {"kind = 'float', at_least = 1, at_most = 1", "kind = 'int', above = 0, below = 2",
        "kind = 'int', at_least = 0.5", "kind = 'float', above = 0.5, below = 0.6"})
    EXPECT_EQ(refused(range), "") << range;
}

}  // namespace
}  // namespace cupel::testing
