#include "cupel/rules/rule_parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "cupel/core/error.h"
#include "rules/usage_error.h"

namespace cupel {
namespace {

using cupel::testing::usage_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

// Reads one parameter of a schema of one; throws what is wrong.
template <class T>
std::optional<T> read(const Parameter& parameter, const std::string& text) {
  ParameterMistakes mistakes;
  const ParameterValues values =
      read_parameters({&parameter, 1}, {{parameter.name, text}}, mistakes);
  mistakes.throw_if_any("TestRule");
  return values.get<T>(parameter.name);
}

const Parameter& threshold() {
  static const Parameter parameter = {.name = "threshold",
                                      .kind = ParameterKind::Float,
                                      .default_text = "1e-7",
                                      .range = {.least = 0, .most = 100}};
  return parameter;
}
const Parameter& num_steps() {
  static const Parameter parameter = {
      .name = "num_steps", .kind = ParameterKind::Int, .default_text = "10", .range = {.least = 1}};
  return parameter;
}
const Parameter& only_nan() {
  static const Parameter parameter = {
      .name = "only_nan", .kind = ParameterKind::Bool, .default_text = "False"};
  return parameter;
}
const Parameter& names() {
  static const Parameter parameter = {.name = "names", .kind = ParameterKind::List};
  return parameter;
}
const Parameter& regex() {
  static const Parameter parameter = {.name = "regex", .default_text = "relu"};
  return parameter;
}

std::optional<double> read_number(const std::string& text) {
  return read<double>(threshold(), text);
}

TEST(RuleParameter, a_parameter_that_is_not_given_has_its_default) {
  const std::vector<Parameter> known = {threshold(), num_steps(), only_nan(), names(), regex()};
  ParameterMistakes mistakes;
  const ParameterValues values = read_parameters(known, {}, mistakes);
  EXPECT_TRUE(mistakes.empty());
  EXPECT_EQ(values.get<double>("threshold"), 1e-7);
  EXPECT_EQ(values.get<std::int64_t>("num_steps"), 10);
  EXPECT_EQ(values.get<bool>("only_nan"), false);
  EXPECT_EQ(values.get<std::string>("regex"), "relu");
  EXPECT_EQ(values.get<Texts>("names"), std::nullopt);
  EXPECT_FALSE(values.is_given("threshold"));
}

TEST(RuleParameter, none_and_blank_text_mean_not_given) {
  for (const char* text : {"None", "", "  ", " None "}) EXPECT_EQ(read_number(text), 1e-7) << text;
}

TEST(RuleParameter, a_required_parameter_that_is_not_given_is_what_the_rule_lacks) {
  const Parameter other = {.name = "other", .required = true, .help = "the run to compare with"};
  EXPECT_THROW(read<std::string>(other, "None"), InsufficientInformationForRuleInvocation);
  EXPECT_THAT(usage_error([&] { read<std::string>(other, ""); }),
              HasSubstr("other is not given: the run to compare with"));
  EXPECT_EQ(read<std::string>(other, "runs/1"), "runs/1");
}

TEST(RuleParameter, what_is_missing_beside_another_mistake_is_an_ordinary_error) {
  ParameterMistakes mistakes;
  mistakes.add_missing("nothing is chosen");
  mistakes.add("a threshold is too large");
  EXPECT_EQ(usage_error([&] { mistakes.throw_if_any("R"); }),
            "R: nothing is chosen\nR: a threshold is too large");
}

TEST(RuleParameter, numbers_are_decimal_or_exponent_text_with_blanks_around) {
  EXPECT_EQ(read_number("0.25"), 0.25);
  EXPECT_EQ(read_number(" 1e-9 "), 1e-9);
  EXPECT_EQ(read_number("+3"), 3);
  EXPECT_EQ(read_number("100"), 100);
  EXPECT_EQ(read_number("0"), 0);
}

TEST(RuleParameter, what_is_not_a_finite_number_is_a_mistake) {
  for (const char* text :
       {"abc", "nan", "inf", "-inf", "1,5", "1e999", "0x10", "1 2", "+-1", "--1"})
    EXPECT_THROW(read_number(text), UsageError) << text;
}

TEST(RuleParameter, a_number_out_of_bounds_is_a_mistake_that_names_them) {
  EXPECT_EQ(usage_error([] { read_number("-0.5"); }),
            "TestRule: parameter threshold is \"-0.5\"; legal is a number from 0 to 100 "
            "(default 1e-7)");
  EXPECT_THROW(read_number("100.1"), UsageError);
}

TEST(RuleParameter, one_bound_is_named_alone) {
  const auto legal = [](const NumberRange& range) {
    const Parameter limit = {.name = "limit", .kind = ParameterKind::Float, .range = range};
    return usage_error([&] { read<double>(limit, "x"); });
  };
  EXPECT_EQ(legal({.least = 2}), "TestRule: parameter limit is \"x\"; legal is a number >= 2");
  EXPECT_THAT(legal({.most = 2}), HasSubstr("legal is a number <= 2"));
  EXPECT_THAT(legal({}), HasSubstr("legal is a finite number"));
}

TEST(RuleParameter, open_bounds_are_not_legal_themselves) {
  const Parameter open = {
      .name = "open",
      .kind = ParameterKind::Float,
      .range = {.least = 0, .most = 100, .open_below = true, .open_above = true}};
  EXPECT_EQ(read<double>(open, "0.5"), 0.5);
  for (const char* text : {"0", "100"})
    EXPECT_THAT(usage_error([&] { read<double>(open, text); }),
                HasSubstr("legal is a number > 0 and < 100"))
        << text;
}

TEST(RuleParameter, integers_may_have_a_sign_or_a_zero_fraction) {
  const auto read_integer = [](const char* text) { return read<std::int64_t>(num_steps(), text); };
  EXPECT_EQ(read_integer("7"), 7);
  EXPECT_EQ(read_integer("+7"), 7);
  EXPECT_EQ(read_integer("10.0"), 10);
  EXPECT_EQ(read_integer("1e3"), 1000);
  EXPECT_EQ(read_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(RuleParameter, what_is_not_a_whole_number_in_range_is_a_mistake) {
  for (const char* text : {"10.5", "x", "0", "-3", "1e300", "nan"})
    EXPECT_EQ(usage_error([&] { read<std::int64_t>(num_steps(), text); }),
              "TestRule: parameter num_steps is \"" + std::string(text) +
                  "\"; legal is a whole number >= 1 (default 10)");
}

TEST(RuleParameter, an_integer_out_of_its_range_gets_the_bound_that_it_exceeds) {
  const Parameter few = {
      .name = "few", .kind = ParameterKind::Int, .range = {.least = 1, .most = 9}};
  EXPECT_THAT(usage_error([&] { read<std::int64_t>(few, "0"); }), HasSubstr("number >= 1"));
  EXPECT_THAT(usage_error([&] { read<std::int64_t>(few, "10"); }), HasSubstr("number <= 9"));
  const Parameter any = {.name = "any", .kind = ParameterKind::Int};
  EXPECT_EQ(read<std::int64_t>(any, "-9223372036854775808"),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(usage_error([&] { read<std::int64_t>(any, "x"); }),
            "TestRule: parameter any is \"x\"; legal is a whole number");
}

TEST(RuleParameter, booleans_are_six_words) {
  for (const char* text : {"True", "true", "1"})
    EXPECT_EQ(read<bool>(only_nan(), text), true) << text;
  for (const char* text : {"False", "false", "0"})
    EXPECT_EQ(read<bool>(only_nan(), text), false) << text;
  for (const char* text : {"TRUE", "yes", "2", "no"})
    EXPECT_THAT(usage_error([&] { read<bool>(only_nan(), text); }),
                HasSubstr("legal is True or False (default False)"));
}

TEST(RuleParameter, lists_are_split_at_commas_and_trimmed) {
  EXPECT_EQ(read<Texts>(names(), "relu, tanh ,sigmoid"), Texts({"relu", "tanh", "sigmoid"}));
  EXPECT_EQ(read<Texts>(names(), "relu"), Texts({"relu"}));
  EXPECT_EQ(read<Texts>(names(), ",relu,,"), Texts({"relu"}));
  EXPECT_EQ(read<Texts>(names(), ","), Texts());
}

TEST(RuleParameter, a_json_array_of_strings_may_hold_commas) {
  EXPECT_EQ(read<Texts>(names(), R"(["a{1,2}", "b"])"), Texts({"a{1,2}", "b"}));
}

TEST(RuleParameter, a_pattern_that_begins_with_a_bracket_is_no_json_array) {
  EXPECT_EQ(read<Texts>(names(), "[0-9]+"), Texts({"[0-9]+"}));
  EXPECT_EQ(read<Texts>(names(), "[1]"), Texts({"[1]"}));
}

TEST(RuleParameter, lists_of_numbers_may_stand_in_parentheses) {
  const Parameter tokens = {
      .name = "tokens", .kind = ParameterKind::Numbers, .range = {.least = -10, .most = 10}};
  EXPECT_EQ(read<Numbers>(tokens, "3, -0.5"), Numbers({3, -0.5}));
  EXPECT_EQ(read<Numbers>(tokens, "(-1, 2)"), Numbers({-1, 2}));
  EXPECT_EQ(read<Numbers>(tokens, "None"), std::nullopt);
  for (const char* text : {"1, x", "1 2", "((1))", "(1, 2", "11", "1, -10.5", "nan"})
    EXPECT_EQ(usage_error([&] { read<Numbers>(tokens, text); }),
              "TestRule: parameter tokens is \"" + std::string(text) +
                  "\"; legal is a list of numbers, each a number from -10 to 10")
        << text;
}

TEST(RuleParameter, a_choice_is_one_of_the_legal_texts_in_any_case) {
  const Parameter mode = {.name = "mode", .choices = {"EVAL", "TRAIN"}};
  EXPECT_EQ(read<std::string>(mode, "train"), "TRAIN");
  EXPECT_EQ(read<std::string>(mode, "None"), std::nullopt);
  EXPECT_THAT(usage_error([&] { read<std::string>(mode, "trai"); }),
              HasSubstr("legal is EVAL, TRAIN"));
}

TEST(RuleParameter, a_mistake_leaves_a_parameter_given_and_without_value) {
  ParameterMistakes mistakes;
  const ParameterValues values = read_parameters({&threshold(), 1}, {{"threshold", "x"}}, mistakes);
  EXPECT_TRUE(values.is_given("threshold"));
  EXPECT_EQ(values.find("threshold"), nullptr);
  ASSERT_THAT(mistakes.all(), SizeIs(1));
  EXPECT_EQ(mistakes.all().front().parameter, "threshold");
}

TEST(RuleParameter, an_unknown_parameter_is_a_mistake_with_the_nearest_name_as_hint) {
  ParameterMistakes mistakes;
  read_parameters({&threshold(), 1}, {{"treshold", "1"}}, mistakes);
  ASSERT_THAT(mistakes.all(), SizeIs(1));
  EXPECT_EQ(mistakes.all().front().message, "unknown parameter \"treshold\"");
  EXPECT_EQ(mistakes.all().front().hint, "did you mean threshold?");
  EXPECT_EQ(usage_error([&] { mistakes.throw_if_any("TestRule"); }),
            "TestRule: unknown parameter \"treshold\"; did you mean threshold?");
}

TEST(RuleParameter, an_unknown_parameter_that_is_near_to_none_gets_the_list) {
  const std::vector<Parameter> known = {threshold(), num_steps(), names()};
  ParameterMistakes mistakes;
  read_parameters(known, {{"zzz", "1"}}, mistakes);
  ASSERT_THAT(mistakes.all(), SizeIs(1));
  EXPECT_EQ(mistakes.all().front().message,
            "unknown parameter \"zzz\"; the rule takes threshold, num_steps, names");
  ParameterMistakes of_none;
  read_parameters({}, {{"zzz", "1"}}, of_none);
  EXPECT_THAT(of_none.all().front().message, HasSubstr("; the rule takes none"));
}

TEST(RuleParameter, all_mistakes_are_reported_together) {
  const std::vector<Parameter> known = {threshold(), num_steps(), only_nan()};
  ParameterMistakes mistakes;
  read_parameters(
      known, {{"threshold", "abc"}, {"num_steps", "0"}, {"only_nan", "maybe"}, {"colour", "red"}},
      mistakes);
  mistakes.add("limit and names exclude each other");
  const std::string text = usage_error([&] { mistakes.throw_if_any("TestRule"); });
  EXPECT_THAT(text, HasSubstr("TestRule: parameter threshold is \"abc\""));
  EXPECT_THAT(text, HasSubstr("\nTestRule: parameter num_steps is \"0\""));
  EXPECT_THAT(text,
              HasSubstr("\nTestRule: parameter only_nan is \"maybe\"; legal is True or False"));
  EXPECT_THAT(text, HasSubstr("\nTestRule: limit and names exclude each other"));
  EXPECT_THAT(text, HasSubstr("\nTestRule: unknown parameter \"colour\""));
}

TEST(RuleParameter, kinds_have_names) {
  EXPECT_EQ(to_string(ParameterKind::Float), "float");
  EXPECT_EQ(to_string(ParameterKind::Int), "int");
  EXPECT_EQ(to_string(ParameterKind::Bool), "bool");
  EXPECT_EQ(to_string(ParameterKind::Text), "text");
  EXPECT_EQ(to_string(ParameterKind::List), "list");
  EXPECT_EQ(to_string(ParameterKind::Numbers), "list");
}

}  // namespace
}  // namespace cupel
