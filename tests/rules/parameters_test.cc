#include "cupel/rules/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>
#include <string>

#include "cupel/core/error.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kMost = std::numeric_limits<double>::max();
constexpr std::array kKnown = {
    ParameterInfo{"threshold", "float", "1e-7", ""}, ParameterInfo{"limit", "float", "", ""},
    ParameterInfo{"num_steps", "int", "10", ""},     ParameterInfo{"only_nan", "bool", "False", ""},
    ParameterInfo{"names", "list", "", ""},          ParameterInfo{"regex", "text", "relu", ""},
};

// Reads one parameter with the getter; what finish() complains of is thrown.
template <class Getter>
auto read(const RuleParameters& parameters, Getter getter) {
  ParameterReader reader("TestRule", parameters, kKnown);
  auto value = getter(reader);
  reader.finish();
  return value;
}

double read_number(const std::string& text) {
  return read({{"threshold", text}},
              [](ParameterReader& reader) { return reader.number("threshold", 0, 100); });
}
std::int64_t read_integer(const std::string& text) {
  return read({{"num_steps", text}},
              [](ParameterReader& reader) { return reader.integer("num_steps", 1); });
}
bool read_boolean(const std::string& text) {
  return read({{"only_nan", text}},
              [](ParameterReader& reader) { return reader.boolean("only_nan"); });
}
std::vector<std::string> read_list(const std::string& text) {
  return read({{"names", text}}, [](ParameterReader& reader) { return reader.list("names"); });
}

template <class F>
std::string usage_error(F&& f) {
  try {
    f();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ParameterReader, a_parameter_that_is_not_given_has_its_default) {
  EXPECT_EQ(read({}, [](auto& reader) { return reader.number("threshold", 0, 1); }), 1e-7);
  EXPECT_EQ(read({}, [](auto& reader) { return reader.integer("num_steps", 1); }), 10);
  EXPECT_FALSE(read({}, [](auto& reader) { return reader.boolean("only_nan"); }));
  EXPECT_EQ(read({}, [](auto& reader) { return reader.text("regex"); }), "relu");
  EXPECT_THAT(read({}, [](auto& reader) { return reader.list("names"); }), IsEmpty());
  EXPECT_EQ(read({}, [](auto& reader) { return reader.optional_number("limit", 0, 1); }),
            std::nullopt);
}

TEST(ParameterReader, none_and_blank_text_mean_not_given) {
  for (const char* text : {"None", "", "  ", " None "}) EXPECT_EQ(read_number(text), 1e-7) << text;
}

TEST(ParameterReader, numbers_are_decimal_or_exponent_text_with_blanks_around) {
  EXPECT_EQ(read_number("0.25"), 0.25);
  EXPECT_EQ(read_number(" 1e-9 "), 1e-9);
  EXPECT_EQ(read_number("+3"), 3);
  EXPECT_EQ(read_number("100"), 100);
  EXPECT_EQ(read_number("0"), 0);
}

TEST(ParameterReader, what_is_not_a_finite_number_is_a_mistake) {
  for (const char* text :
       {"abc", "nan", "inf", "-inf", "1,5", "1e999", "0x10", "1 2", "+-1", "--1"})
    EXPECT_THROW(read_number(text), UsageError) << text;
}

TEST(ParameterReader, a_number_out_of_bounds_is_a_mistake_that_names_them) {
  EXPECT_EQ(usage_error([] { read_number("-0.5"); }),
            "TestRule: parameter threshold is \"-0.5\"; legal is a number from 0 to 100 "
            "(default 1e-7)");
  EXPECT_THROW(read_number("100.1"), UsageError);
}

TEST(ParameterReader, one_bound_is_named_alone) {
  const auto read_limit = [](double at_least, double at_most) {
    return usage_error([&] {
      read({{"limit", "x"}},
           [&](auto& reader) { return reader.optional_number("limit", at_least, at_most); });
    });
  };
  EXPECT_THAT(read_limit(2, kMost), HasSubstr("legal is a number >= 2"));
  EXPECT_THAT(read_limit(-kMost, 2), HasSubstr("legal is a number <= 2"));
  EXPECT_THAT(read_limit(-kMost, kMost), HasSubstr("legal is a finite number"));
}

TEST(ParameterReader, integers_may_have_a_sign_or_a_zero_fraction) {
  EXPECT_EQ(read_integer("7"), 7);
  EXPECT_EQ(read_integer("+7"), 7);
  EXPECT_EQ(read_integer("10.0"), 10);
  EXPECT_EQ(read_integer("1e3"), 1000);
  EXPECT_EQ(read_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(ParameterReader, what_is_not_a_whole_number_in_range_is_a_mistake) {
  for (const char* text : {"10.5", "x", "0", "-3", "1e300", "nan"})
    EXPECT_THROW(read_integer(text), UsageError) << text;
}

TEST(ParameterReader, booleans_are_six_words) {
  for (const char* text : {"True", "true", "1"}) EXPECT_TRUE(read_boolean(text)) << text;
  for (const char* text : {"False", "false", "0"}) EXPECT_FALSE(read_boolean(text)) << text;
  for (const char* text : {"TRUE", "yes", "2", "no"})
    EXPECT_THROW(read_boolean(text), UsageError) << text;
}

TEST(ParameterReader, lists_are_split_at_commas_and_trimmed) {
  EXPECT_THAT(read_list("relu, tanh ,sigmoid"), ElementsAre("relu", "tanh", "sigmoid"));
  EXPECT_THAT(read_list("relu"), ElementsAre("relu"));
  EXPECT_THAT(read_list(",relu,,"), ElementsAre("relu"));
}

TEST(ParameterReader, a_json_array_of_strings_may_hold_commas) {
  EXPECT_THAT(read_list(R"(["a{1,2}", "b"])"), ElementsAre("a{1,2}", "b"));
}

TEST(ParameterReader, lists_of_numbers_may_stand_in_parentheses) {
  const auto read_numbers = [](const std::string& text) {
    return read({{"names", text}}, [](ParameterReader& reader) {
      return reader.numbers("names", {-10, 10});
    });
  };
  EXPECT_THAT(read_numbers("3, -0.5"), ElementsAre(3, -0.5));
  EXPECT_THAT(read_numbers("(-1, 2)"), ElementsAre(-1, 2));
  EXPECT_THAT(read_numbers("None"), IsEmpty());
  for (const char* text : {"1, x", "1 2", "((1))", "(1, 2", "11", "1, -10.5", "nan"})
    EXPECT_EQ(usage_error([&] { read_numbers(text); }),
              "TestRule: parameter names is \"" + std::string(text) +
                  "\"; legal is a list of numbers, each a number from -10 to 10")
        << text;
}

TEST(ParameterReader, says_whether_a_parameter_is_given) {
  const auto given = [](const RuleParameters& parameters) {
    return read(parameters, [](ParameterReader& reader) { return reader.is_given("threshold"); });
  };
  EXPECT_TRUE(given({{"threshold", "1e-7"}}));
  EXPECT_FALSE(given({{"threshold", "None"}}));
  EXPECT_FALSE(given({}));
}

TEST(ParameterReader, a_pattern_that_begins_with_a_bracket_is_no_json_array) {
  EXPECT_THAT(read_list("[0-9]+"), ElementsAre("[0-9]+"));
  EXPECT_THAT(read_list("[1]"), ElementsAre("[1]"));
}

TEST(ParameterReader, an_unknown_parameter_is_a_mistake_with_the_nearest_name) {
  EXPECT_EQ(
      usage_error([] {
        read({{"treshold", "1"}}, [](auto& reader) { return reader.number("threshold", 0, 1); });
      }),
      "TestRule: unknown parameter \"treshold\"; did you mean threshold?");
}

TEST(ParameterReader, an_unknown_parameter_that_is_near_to_none_gets_the_list) {
  EXPECT_THAT(usage_error([] {
                read({{"zzz", "1"}}, [](auto& reader) { return reader.text("regex"); });
              }),
              HasSubstr("the rule takes threshold, limit, num_steps, only_nan, names, regex"));
}

TEST(ParameterReader, all_mistakes_are_reported_together) {
  const RuleParameters parameters = {
      {"threshold", "abc"}, {"num_steps", "0"}, {"only_nan", "maybe"}, {"colour", "red"}};
  const std::string text = usage_error([&] {
    ParameterReader reader("TestRule", parameters, kKnown);
    reader.number("threshold", 0, 1);
    reader.integer("num_steps", 1);
    reader.boolean("only_nan");
    reader.fail("limit and names exclude each other");
    reader.finish();
  });
  EXPECT_THAT(text, HasSubstr("TestRule: parameter threshold is \"abc\""));
  EXPECT_THAT(text, HasSubstr("\nTestRule: parameter num_steps is \"0\""));
  EXPECT_THAT(text,
              HasSubstr("\nTestRule: parameter only_nan is \"maybe\"; legal is True or False"));
  EXPECT_THAT(text, HasSubstr("\nTestRule: limit and names exclude each other"));
  EXPECT_THAT(text, HasSubstr("\nTestRule: unknown parameter \"colour\""));
}

TEST(ParameterReader, open_bounds_are_not_legal_themselves) {
  const auto read_open = [](const std::string& text) {
    return read({{"threshold", text}}, [](ParameterReader& reader) {
      return reader.number("threshold",
                           {.least = 0, .most = 100, .open_below = true, .open_above = true});
    });
  };
  EXPECT_EQ(read_open("0.5"), 0.5);
  for (const char* text : {"0", "100"})
    EXPECT_THAT(usage_error([&] { read_open(text); }), HasSubstr("legal is a number > 0 and < 100"))
        << text;
}

TEST(ParameterReader, a_choice_is_one_of_the_legal_texts_in_any_case) {
  constexpr std::array<std::string_view, 2> kLegal = {"EVAL", "TRAIN"};
  const auto read_choice = [&](const std::string& text) {
    return read({{"names", text}},
                [&](ParameterReader& reader) { return reader.choice("names", kLegal); });
  };
  EXPECT_EQ(read_choice("train"), "TRAIN");
  EXPECT_EQ(read_choice("None"), "");
  EXPECT_THAT(usage_error([&] { read_choice("trai"); }), HasSubstr("legal is EVAL, TRAIN"));
}

}  // namespace
}  // namespace cupel
