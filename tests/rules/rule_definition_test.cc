// Rules in C++ of a program's own: what define_rule() makes of a class, and the catalog.

#include "cupel/rules/rule_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cupel/core/error.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "rules/rule_fixture.h"
#include "rules/usage_error.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Fires at each step with what its options are.
class Echo final : public Rule {
 public:
  struct Options {
    double limit = 0;
    std::int64_t steps = 0;
    bool on = false;
    std::string text;
    std::vector<std::string> names;
    std::vector<double> numbers;
    std::optional<double> maybe;
    PatternList patterns;
    Mode mode = Mode::Global;
    bool checked = false;
  };
  static RuleDefinition definition() {
    return define_rule<Echo>(
        {.name = "EchoRule",
         .summary = "echoes its options",
         .description = "\nA paragraph.\n",
         .example = "EchoRule,limit=2"},
        {option(&Options::limit,
                {.name = "limit", .default_text = "1.5", .range = {.least = 0}, .help = "a limit"}),
         option(&Options::steps, {.name = "steps", .default_text = "3"}),
         option(&Options::on, {.name = "on", .default_text = "True"}),
         option(&Options::text, {.name = "text", .default_text = "abc"}),
         option(&Options::names, {.name = "names", .default_text = "a,b"}),
         option(&Options::numbers, {.name = "numbers", .default_text = "1,2"}),
         option(&Options::maybe, {.name = "maybe"}),
         option(&Options::patterns, {.name = "patterns", .default_text = "relu"}),
         option<std::string, Options>(
             {.name = "mode", .default_text = "TRAIN", .choices = {"EVAL", "TRAIN"}},
             [](Options& options, const std::string& mode, ParameterMistakes& /*mistakes*/) {
               options.mode = parse_mode(mode);
             })});
  }
  static void check(Options& options, const ParameterValues& values, ParameterMistakes& mistakes) {
    options.checked = true;
    if (options.maybe && values.is_given("limit"))
      mistakes.add("maybe and limit exclude each other");
  }
  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = {.patterns = options.patterns, .parameters = {"patterns"}},
              .suffices = {TensorSource::value()}}}};
  }

  Echo(Trial& base, const Options& options) : Rule(base), options_(options) {}

  Verdict invoke_at_step(std::int64_t /*step*/) override {
    std::string text = shortest_text(options_.limit) + " " + std::to_string(options_.steps) + " " +
                       (options_.on ? "on " : "off ") + options_.text;
    for (const std::string& name : options_.names) text += " " + name;
    for (const double number : options_.numbers) text += " " + shortest_text(number);
    text += options_.maybe ? " " + shortest_text(*options_.maybe) : " -";
    for (const std::string& pattern : options_.patterns.texts()) text += " " + pattern;
    text += " " + std::string(to_string(options_.mode)) + (options_.checked ? " checked" : "");
    Verdict verdict;
    verdict.add({.tensor = "w", .message = text});
    return verdict;
  }

 private:
  Options options_;
};

class OneRun : public ::testing::Test {
 protected:
  OneRun() { run_.worker().save(0, {scalar("w", 1)}); }
  std::string echo(const RuleParameters& given) {
    Trial trial = run_.open();
    const auto rule = Echo::definition().make(trial, given);
    return RuleEvaluation(*rule)
        .at_step(0, RunFollower(trial).snapshot())
        .findings()
        .front()
        .message;
  }
  MemoryRun run_;
};

TEST_F(OneRun, gives_a_rule_the_defaults_of_its_schema) {
  EXPECT_EQ(echo({}), "1.5 3 on abc a b 1 2 - relu TRAIN checked");
}

TEST_F(OneRun, gives_a_rule_what_its_user_gave) {
  EXPECT_EQ(echo({{"limit", "2"},
                  {"steps", "4"},
                  {"on", "0"},
                  {"text", "x"},
                  {"names", "c"},
                  {"numbers", "(7)"},
                  {"patterns", "tanh,sigmoid"},
                  {"mode", "eval"}}),
            "2 4 off x c 7 - tanh sigmoid EVAL checked");
  EXPECT_EQ(echo({{"maybe", "8"}}), "1.5 3 on abc a b 1 2 8 relu TRAIN checked");
}

TEST_F(OneRun, names_a_rule_and_what_it_reads_by_the_definition) {
  Trial trial = run_.open();
  const auto rule = Echo::definition().make(trial, {{"patterns", "tanh"}});
  EXPECT_EQ(rule->rule_name(), "EchoRule");
  EXPECT_EQ(rule->what_it_reads(), "names matching \"tanh\": raw values");
}

TEST(RuleDefinition, takes_the_kind_of_a_parameter_from_the_member) {
  std::string kinds;
  for (const Parameter& parameter : Echo::definition().parameters)
    kinds.append(parameter.name).append(" ").append(to_string(parameter.kind)).append(", ");
  EXPECT_EQ(kinds,
            "limit float, steps int, on bool, text text, names list, numbers list, maybe float, "
            "patterns list, mode text, ");
}

TEST(RuleDefinition, has_a_description_without_the_breaks_of_its_literal) {
  EXPECT_EQ(Echo::definition().description, "A paragraph.");
}

TEST(RuleDefinition, finds_every_mistake_without_a_run) {
  const ParameterMistakes mistakes = Echo::definition().mistakes_in(
      {{"limit", "1"}, {"maybe", "2"}, {"steps", "x"}, {"patterns", "("}, {"colour", "red"}});
  std::vector<std::string> texts;
  for (const Mistake& mistake : mistakes.all()) texts.push_back(mistake.message);
  EXPECT_THAT(
      texts,
      ElementsAre(HasSubstr("parameter steps is \"x\""), HasSubstr("parameter patterns: "),
                  "maybe and limit exclude each other", HasSubstr("unknown parameter \"colour\"")));
  EXPECT_THAT(Echo::definition().mistakes_in({}).all(), IsEmpty());
}

TEST(RuleDefinition, refuses_a_list_of_no_pattern) {
  EXPECT_EQ(usage_error([] {
              Echo::definition().needs({{"patterns", ","}});
            }),
            "EchoRule: parameter patterns holds no pattern");
}

TEST(RuleDefinition, computes_needs_from_parameters) {
  const RuleDefinition definition = Echo::definition();
  EXPECT_EQ(describe(definition.needs({{"patterns", "tanh"}})),
            "names matching \"tanh\": raw values");
  EXPECT_EQ(definition.reads(), "names matching \"relu\": raw values");
  EXPECT_THROW(definition.needs({{"limit", "-1"}}), UsageError);
}

// Compares with other runs, and says nothing of what it needs.
class WithOther final : public Rule {
 public:
  struct Options {
    std::string choice;
  };
  static RuleDefinition definition() {
    return define_rule<WithOther>(
        {.name = "WithOther", .other_trials = 1},
        {option(&Options::choice,
                {.name = "choice", .required = true, .help = "what to compare"})});
  }
  WithOther(Trial& base, const Options& /*options*/, const std::vector<Trial*>& others)
      : Rule(base, others) {}
  Verdict invoke_at_step(std::int64_t /*step*/) override { return {}; }
};

TEST_F(OneRun, hands_a_rule_the_other_runs) {
  MemoryRun other;
  other.worker().save(0, {scalar("w", 1)});
  Trial trial = run_.open();
  const RuleDefinition definition = WithOther::definition();
  EXPECT_THAT(usage_error([&] {
                definition.make(trial, {{"choice", "w"}});
              }),
              HasSubstr("it compares with 1 other run(s); name them by other_trials=PATH"));
  EXPECT_THROW(definition.make(trial, {{"choice", "w"}}), InsufficientInformationForRuleInvocation);
  std::vector<std::unique_ptr<Trial>> others;
  others.push_back(std::unique_ptr<Trial>(new Trial(other.open())));
  const auto rule = definition.make(trial, {{"choice", "w"}}, std::move(others));
  EXPECT_EQ(rule->other_trials().front()->steps(), std::vector<std::int64_t>{0});
}

TEST(RuleDefinition, without_needs_reads_what_its_code_asks_for) {
  const RuleDefinition definition = WithOther::definition();
  EXPECT_FALSE(definition.has_needs());
  EXPECT_EQ(definition.reads(), "what its code asks for");
}

TEST(RuleDefinition, lacks_a_required_parameter) {
  EXPECT_THAT(usage_error([] { WithOther::definition().needs(); }),
              HasSubstr("choice is not given: what to compare"));
}

TEST(RuleCatalog, finds_a_definition_by_either_form_of_its_name) {
  RuleCatalog catalog;
  catalog.add(Echo::definition());
  EXPECT_EQ(catalog.require("EchoRule").name, "EchoRule");
  EXPECT_EQ(catalog.require("echo_rule").name, "EchoRule");
  EXPECT_EQ(catalog.find("echorule"), nullptr);
  EXPECT_EQ(usage_error([&] { catalog.require("EkhoRule"); }),
            "unknown rule \"EkhoRule\"; did you mean EchoRule?");
  EXPECT_EQ(usage_error([&] { catalog.require("Frobnicate"); }),
            "unknown rule \"Frobnicate\"; the rules are EchoRule");
}

TEST(RuleCatalog, keeps_definitions_by_name_and_edition) {
  RuleCatalog catalog;
  RuleDefinition reference = Echo::definition();
  reference.edition = Definitions::Reference;
  reference.summary = "as it was published";
  RuleDefinition practical = Echo::definition();
  practical.edition = Definitions::Practical;
  catalog.add(reference);
  catalog.add(practical);
  catalog.add(WithOther::definition());
  EXPECT_EQ(catalog.require("EchoRule").summary, "echoes its options");
  EXPECT_EQ(catalog.require("EchoRule", Definitions::Reference).summary, "as it was published");
  EXPECT_EQ(catalog.require("WithOther", Definitions::Reference).name, "WithOther");
  std::vector<std::string> names;
  for (const auto& definition : catalog.definitions()) names.push_back(definition->name);
  EXPECT_THAT(names, ElementsAre("EchoRule", "EchoRule", "WithOther"));
}

TEST(RuleCatalog, refuses_a_name_that_an_edition_has_already) {
  RuleCatalog catalog;
  RuleDefinition reference = Echo::definition();
  reference.edition = Definitions::Reference;
  catalog.add(reference);
  EXPECT_THAT(usage_error([&] { catalog.add(reference); }), HasSubstr("in the catalog already"));
  EXPECT_THAT(usage_error([&] { catalog.add(Echo::definition()); }),
              HasSubstr("in the catalog already"));
  RuleDefinition other_form = Echo::definition();
  other_form.name = "echo_rule";
  EXPECT_THROW(catalog.add(other_form), UsageError);
  EXPECT_THAT(catalog.definitions(), ::testing::SizeIs(1));
}

TEST(RuleCatalog, refuses_definitions_that_are_wrong_in_themselves) {
  RuleCatalog catalog;
  const auto refused = [&](auto&& change) {
    RuleDefinition definition = Echo::definition();
    change(definition);
    return usage_error([&] { catalog.add(definition); });
  };
  EXPECT_THAT(refused([](auto& definition) { definition.name = "Echo Rule"; }),
              HasSubstr("needs a name of letters"));
  EXPECT_THAT(refused([](auto& definition) { definition.make_rule = nullptr; }),
              HasSubstr("has no make_rule"));
  EXPECT_THAT(refused([](auto& definition) { definition.parameters[0].default_text = "-1"; }),
              HasSubstr("has an illegal default: parameter limit is \"-1\""));
  EXPECT_THAT(refused([](auto& definition) { definition.parameters[1].name = "limit"; }),
              HasSubstr("has two parameters limit"));
  EXPECT_THAT(refused([](auto& definition) { definition.parameters[0].required = true; }),
              HasSubstr("requires limit, which has a default"));
  EXPECT_THAT(refused([](auto& definition) { definition.name = "all"; }),
              HasSubstr("has the name of the set of all rules"));
  EXPECT_THAT(refused([](auto& definition) { definition.name = "All"; }),
              HasSubstr("has the name of the set of all rules"));
  EXPECT_THAT(catalog.definitions(), IsEmpty());
}

TEST(RuleCatalog, refuses_a_parameter_of_which_no_number_is_legal) {
  const auto refused = [](Parameter parameter) {
    RuleCatalog catalog;
    RuleDefinition definition = Echo::definition();
    definition.parameters = {std::move(parameter)};
    return usage_error([&] { catalog.add(definition); });
  };
  const std::string kNothingThrown = "nothing was thrown";
  constexpr auto kFloat = ParameterKind::Float;
  constexpr auto kInt = ParameterKind::Int;
  const NumberRange between{.least = 0.5, .most = 0.7};
  EXPECT_EQ(refused({.name = "a", .kind = kFloat, .range = between}), kNothingThrown);
  EXPECT_EQ(refused({.name = "a", .kind = kInt, .range = {.least = 1, .most = 1}}), kNothingThrown);
  EXPECT_EQ(refused({.name = "a", .kind = kInt, .range = {.least = 0.5, .most = 1}}),
            kNothingThrown);
  EXPECT_EQ(refused({.name = "a", .kind = kInt, .range = {.most = 0}}), kNothingThrown);
  for (const Parameter& parameter : std::vector<Parameter>{
           {.name = "a", .kind = kInt, .range = between},
           {.name = "a", .kind = kInt, .range = {.least = 1e300}},
           {.name = "a",
           .kind = kInt,
           .range = {.least = 1, .most = 2, .open_below = true, .open_above = true}},
           {.name = "a", .kind = kFloat, .range = {.least = 2, .most = 1}},
           {.name = "a", .kind = kFloat, .range = {.least = 1, .most = 1, .open_below = true}},
           {.name = "a", .kind = kFloat, .range = {.least = 1, .most = 1, .open_above = true}}})
    EXPECT_THAT(refused(parameter), HasSubstr("has a parameter a, of which no number is legal"));
}

TEST(RuleDefinition, takes_the_empty_text_for_a_default) {
  const Parameter parameter{.name = "text", .default_text = ""};
  ParameterMistakes mistakes;
  const ParameterValues values = read_parameters({&parameter, 1}, {}, mistakes);
  EXPECT_TRUE(mistakes.empty());
  EXPECT_EQ(values.get<std::string>("text"), "");
  EXPECT_FALSE(values.is_given("text"));
}

// A rule whose two limits must rise.
class Rising final : public Rule {
 public:
  struct Options {
    double low = 0;
    double high = 0;
  };
  static RuleDefinition definition() {
    return define_rule<Rising>({.name = "Rising"},
                               {option(&Options::low, {.name = "low", .required = true}),
                                option(&Options::high, {.name = "high", .default_text = "2"})});
  }
  static void check(const Options& options, const ParameterValues& values,
                    ParameterMistakes& mistakes) {
    if (values.find("low") == nullptr || values.find("high") == nullptr) return;
    if (options.low >= options.high) mistakes.add("low must be below high");
  }
  using Rule::Rule;
  Rising(Trial& base, const Options& /*options*/) : Rule(base) {}
  Verdict invoke_at_step(std::int64_t /*step*/) override { return {}; }
};

TEST(RuleDefinition, is_checked_as_a_whole_also_beside_other_mistakes) {
  const auto messages = [](const RuleParameters& given) {
    std::vector<std::string> all;
    const ParameterMistakes mistakes = Rising::definition().mistakes_in(given);
    for (const Mistake& mistake : mistakes.all()) all.push_back(mistake.message);
    return all;
  };
  EXPECT_THAT(messages({}), ElementsAre("low is not given"));
  EXPECT_THAT(messages({{"low", "1"}, {"high", "x"}}), ElementsAre(HasSubstr("parameter high")));
  EXPECT_THAT(messages({{"low", "3"}, {"unknown", "1"}}),
              ElementsAre("low must be below high", HasSubstr("unknown parameter")));
  EXPECT_THAT(messages({{"low", "1"}}), IsEmpty());
}

}  // namespace
}  // namespace cupel::testing
