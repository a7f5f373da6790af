// Rules from SPECs, configurations and files: what is loaded, and every mistake with its place.

#include "cupel/rules/load_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "cupel/core/error.h"
#include "rules/rule_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

RuleDefinition rule_named(std::string name, std::vector<Parameter> parameters = {},
                          std::size_t other_trials = 0) {
  RuleDefinition definition{
      .name = std::move(name), .parameters = std::move(parameters), .other_trials = other_trials};
  definition.make_rule = [](Trial& base, const ParameterValues&,
                            std::vector<std::unique_ptr<Trial>>) -> std::unique_ptr<Rule> {
    return std::make_unique<WrittenRule>(base, [](Trial&, std::int64_t) { return Verdict(); });
  };
  return definition;
}

// "Texts" takes parameters of any text, "Limits" a number, "Needy" requires one, "Compares" other
// runs.
const RuleCatalog& catalog() {
  static const RuleCatalog rules = [] {
    RuleCatalog made;
    std::vector<Parameter> texts;
    for (const char* name : {"a", "b", "c", "d", "e", "p", "threshold", "other_trial_x"})
      texts.push_back({.name = name});
    made.add(rule_named("Texts", texts));
    made.add(rule_named("Limits", {{.name = "limit",
                                    .kind = ParameterKind::Float,
                                    .default_text = "1",
                                    .range = {.least = 0}}}));
    made.add(rule_named("Needy", {{.name = "what", .required = true, .help = "what to judge"}}));
    made.add(rule_named("Compares", {}, 2));
    return made;
  }();
  return rules;
}

// The files of rules that there are: "two.lua" has First and Second, "one.lua" has Only, "bad.lua"
// has two errors. "absent.lua" cannot be read.
RuleFile read_file(const std::string& path) {
  RuleFile file;
  const auto add = [&](const char* name) {
    RuleDefinition definition = rule_named(name, {{.name = "p"}});
    definition.file = path;
    definition.fingerprint = "f1";
    file.definitions.push_back(std::make_shared<const RuleDefinition>(std::move(definition)));
  };
  if (path == "two.lua") {
    add("First");
    add("Second");
  } else if (path == "one.lua") {
    add("Only");
    file.warnings.push_back({.file = path, .line = 1, .message = "is old"});
  } else if (path == "absent.lua") {
    file.is_readable = false;
    file.errors.push_back({.file = path, .message = "there is no file " + path});
  } else {
    file.errors.push_back({.file = path, .line = 2, .source_line = "x =", .message = "no value"});
    file.errors.push_back({.file = path, .line = 7, .message = "no name", .hint = "add one"});
  }
  return file;
}

RuleFileReaders readers() { return {{.ending = ".lua", .read = read_file}}; }

LoadedRules load_specs(const std::vector<std::string>& specs) {
  return load_rules({.specs = specs}, catalog(), readers());
}

std::vector<std::string> texts_of(const std::vector<RuleProblem>& problems) {
  std::vector<std::string> texts;
  for (const RuleProblem& problem : problems) texts.push_back(to_text(problem));
  return texts;
}

std::vector<std::string> names_of(const LoadedRules& loaded) {
  std::vector<std::string> names;
  for (const RuleConfiguration& rule : loaded.rules) names.push_back(rule.name);
  return names;
}

// ---- SPECs

TEST(LoadRules, takes_the_rules_of_a_catalog_by_spec) {
  const LoadedRules loaded = load_specs({"Limits,limit=2", "limits", "Texts,a=x,y"});
  EXPECT_THAT(texts_of(loaded.errors), IsEmpty());
  EXPECT_THAT(names_of(loaded), ElementsAre("Limits", "Limits#2", "Texts"));
  EXPECT_THAT(loaded.rules[0].parameters, ElementsAre(Pair("limit", "2")));
  EXPECT_EQ(loaded.rules[1].definition->name, "Limits");
  EXPECT_THAT(loaded.rules[2].parameters, ElementsAre(Pair("a", "x,y")));
  EXPECT_FALSE(loaded.rules[0].only_if_fed);
}

TEST(LoadRules, reports_every_mistake_in_every_spec) {
  const LoadedRules loaded =
      load_specs({"Limit", "Limits,limit=-1,colour=red", "Limits,limit=x", ",a=1", "Needy"});
  EXPECT_THAT(texts_of(loaded.errors),
              ElementsAre("unknown rule \"Limit\"; did you mean Limits?",
                          "Limits: parameter limit is \"-1\"; legal is a number >= 0 (default 1)",
                          "Limits: unknown parameter \"colour\"; the rule takes limit",
                          "Limits: parameter limit is \"x\"; legal is a number >= 0 (default 1)",
                          "rule \",a=1\": it has no name; write NAME,param=value",
                          AllOf(StartsWith("The rule lacks what it needs"), HasSubstr("Needy"),
                                HasSubstr("what is not given"))));
  EXPECT_THAT(loaded.rules, IsEmpty());
}

TEST(LoadRules, keeps_the_rules_that_are_right_beside_those_that_are_wrong) {
  const LoadedRules loaded = load_specs({"Limits,limit=x", "Texts"});
  EXPECT_THAT(names_of(loaded), ElementsAre("Texts"));
  EXPECT_THAT(loaded.errors, SizeIs(1));
}

TEST(LoadRules, all_is_every_rule_that_requires_nothing) {
  const LoadedRules loaded = load_specs({"all", "Limits", "all"});
  EXPECT_THAT(names_of(loaded), ElementsAre("Limits", "Texts", "Limits#2"));
  EXPECT_TRUE(loaded.rules[0].only_if_fed);
  EXPECT_FALSE(loaded.rules[2].only_if_fed);
  EXPECT_THAT(texts_of(load_specs({"all,limit=1"}).errors),
              ElementsAre(HasSubstr("all takes no parameters")));
}

TEST(LoadRules, hands_over_the_paths_of_other_runs) {
  const LoadedRules loaded =
      load_specs({"Compares,other_trial_1=b,other_trial_0=a,other_trials=c", "Compares"});
  ASSERT_THAT(loaded.rules, SizeIs(1));
  EXPECT_THAT(loaded.rules[0].other_trials, ElementsAre("a", "b", "c"));
  EXPECT_THAT(loaded.rules[0].parameters, IsEmpty());
  EXPECT_THAT(texts_of(loaded.errors), ElementsAre(HasSubstr("it compares with 2 other run(s)")));
}

TEST(LoadRules, gives_other_runs_as_a_parameter_to_a_rule_that_has_one) {
  const LoadedRules loaded =
      load_rules({.specs = {"SimilarAcrossRuns,other_trial_0=runs/a"}}, builtin_rules(), readers());
  ASSERT_THAT(loaded.rules, SizeIs(1));
  EXPECT_THAT(loaded.rules[0].all_parameters(), ElementsAre(Pair("other_trials", "runs/a")));
  EXPECT_THAT(loaded.rules[0].other_trials, ElementsAre("runs/a"));
  EXPECT_EQ(loaded.rules[0].fingerprint(), "other_trials=runs/a\n");
}

// ---- Files of rules

TEST(LoadRules, takes_rules_of_files_by_name_or_the_only_one) {
  const LoadedRules loaded = load_specs({"two.lua:Second,p=1", "two.lua:first", "one.lua"});
  EXPECT_THAT(texts_of(loaded.errors), IsEmpty());
  EXPECT_THAT(texts_of(loaded.warnings), ElementsAre("one.lua:1: is old"));
  EXPECT_THAT(names_of(loaded), ElementsAre("Second", "First", "Only"));
  EXPECT_EQ(loaded.rules[0].fingerprint(), "p=1\ntext f1\n");
}

TEST(LoadRules, prefers_the_exact_name_of_a_rule_in_a_file) {
  const auto read = [](const std::string&) {
    RuleFile file;
    for (const char* name : {"TooLarge", "too_large"})
      file.definitions.push_back(std::make_shared<const RuleDefinition>(rule_named(name)));
    return file;
  };
  const LoadedRules loaded =
      load_rules({.specs = {"f.lua:too_large", "f.lua:TooLarge"}}, catalog(), {{".lua", read}});
  EXPECT_THAT(names_of(loaded), ElementsAre("too_large", "TooLarge"));
}

TEST(LoadRules, gives_no_two_rules_the_same_name) {
  const LoadedRules loaded = load_specs({"one.lua", "one.lua", "two.lua:First", "First"});
  EXPECT_THAT(names_of(loaded), ElementsAre("Only", "Only#2", "First"));
  EXPECT_THAT(loaded.errors, SizeIs(1));
}

TEST(LoadRules, opens_no_other_runs_for_a_rule_that_compares_with_none) {
  const LoadedRules loaded = load_specs({"Limits,other_trials=runs/b"});
  EXPECT_THAT(texts_of(loaded.errors), IsEmpty());
  ASSERT_THAT(loaded.rules, SizeIs(1));
  EXPECT_THAT(loaded.rules[0].other_trials, IsEmpty());
  EXPECT_EQ(loaded.rules[0].fingerprint().find("other"), std::string::npos);
}

TEST(LoadRules, reports_what_the_own_check_of_a_rule_throws) {
  RuleCatalog throwing;
  RuleDefinition definition = rule_named("Throws", {{.name = "p"}});
  definition.check_values = [](const ParameterValues&, ParameterMistakes&) {
    throw std::out_of_range("p is too long");
  };
  throwing.add(std::move(definition));
  const LoadedRules loaded = load_rules({.specs = {"Throws", "Nothing"}}, throwing, readers());
  EXPECT_THAT(loaded.rules, IsEmpty());
  EXPECT_THAT(texts_of(loaded.errors),
              ElementsAre(HasSubstr("p is too long"), HasSubstr("Nothing")));
}

TEST(LoadRules, reports_names_that_a_file_does_not_have) {
  EXPECT_THAT(
      texts_of(load_specs({"two.lua", "two.lua:Third", "one.lua:Other"}).errors),
      ElementsAre("two.lua has several rules; name one of them, two.lua:NAME: First, Second",
                  "two.lua has no rule Third; it has First, Second",
                  "one.lua has no rule Other; it has Only"));
}

TEST(LoadRules, reads_a_file_once_and_reports_its_errors_once) {
  int reads = 0;
  const auto read = [&](const std::string& path) {
    ++reads;
    return read_file(path);
  };
  const LoadedRules loaded =
      load_rules({.specs = {"bad.lua:A", "bad.lua:B", "bad.lua"}}, catalog(), {{".lua", read}});
  EXPECT_EQ(reads, 1);
  EXPECT_THAT(texts_of(loaded.errors),
              ElementsAre("bad.lua:2: no value, in \"x =\"", "bad.lua:7: no name; add one"));
}

TEST(LoadRules, reads_a_file_by_the_reader_of_its_ending) {
  const auto reader_of = [](const char* name) {
    return [name](const std::string&) {
      RuleFile file;
      file.definitions.push_back(std::make_shared<const RuleDefinition>(rule_named(name)));
      return file;
    };
  };
  const RuleFileReaders two = {{".lua", reader_of("FromLua")}, {".py", reader_of("FromPython")}};
  EXPECT_THAT(names_of(load_rules({.specs = {"a.py", "a.lua", "a.py:FromPython"}}, catalog(), two)),
              ElementsAre("FromPython", "FromLua", "FromPython#2"));
}

TEST(LoadRules, reports_the_place_of_a_name_that_is_no_rule) {
  const auto read = [](const std::string& path) {
    RuleFile file = read_file("one.lua");
    file.other_names["Helper"] = {.file = path, .line = 4, .message = "Helper is no rule"};
    return file;
  };
  EXPECT_THAT(texts_of(load_rules({.specs = {"f.lua:Helper"}}, catalog(), {{".lua", read}}).errors),
              ElementsAre("f.lua:4: Helper is no rule"));
}

TEST(LoadRules, loads_one_rule_that_a_program_has_put_together) {
  const LoadedRules loaded =
      load_rule({.rule = "Texts", .parameters = {{"a", "x,b=y"}}}, catalog(), readers());
  EXPECT_THAT(texts_of(loaded.errors), IsEmpty());
  EXPECT_THAT(loaded.rules.at(0).parameters, ElementsAre(Pair("a", "x,b=y")));
}

TEST(LoadRules, reports_what_the_needs_of_a_rule_throw) {
  RuleCatalog rules;
  RuleDefinition definition = rule_named("Fails");
  definition.needs_of = [](const ParameterValues&) -> RuleNeeds { throw Error("no needs today"); };
  rules.add(definition);
  const LoadedRules loaded = load_rules({.specs = {"Fails"}}, rules, readers());
  EXPECT_THAT(texts_of(loaded.errors), ElementsAre("no needs today"));
  EXPECT_THAT(loaded.rules, IsEmpty());
}

TEST(LoadRules, reports_what_the_needs_of_a_rule_in_a_file_throw_with_the_place) {
  const auto read = [](const std::string& path) {
    RuleDefinition definition = rule_named("Fails");
    definition.file = path;
    definition.needs_of = [](const ParameterValues&) -> RuleNeeds { throw Error("no needs"); };
    definition.problem_of = [path](const std::exception& error) {
      return RuleProblem{.file = path, .line = 3, .source_line = "x", .message = error.what()};
    };
    return RuleFile{{std::make_shared<const RuleDefinition>(std::move(definition))}, {}, {}};
  };
  EXPECT_THAT(texts_of(load_rules({.specs = {"f.lua"}}, catalog(), {{".lua", read}}).errors),
              ElementsAre("f.lua:3: no needs, in \"x\""));
}

// ---- Problems as text

TEST(RuleProblem, is_escaped_as_text_and_null_where_unknown_in_json) {
  const RuleProblem problem = {
      .file = "a\x1b.lua", .line = 3, .source_line = "x", .message = "m\n", .hint = "h"};
  EXPECT_EQ(to_text(problem), R"(a\x1b.lua:3: m\x0a, in "x"; h)");
  EXPECT_EQ(to_json({{.message = "m"}, {.file = "f", .line = 1, .message = "n", .hint = "h"}}),
            R"([{"file":null,"line":null,"message":"m","hint":null},)"
            R"({"file":"f","line":1,"message":"n","hint":"h"}])");
}

// ---- Configurations

class Configurations : public ::testing::Test {
 protected:
  LoadedRules load(std::string_view json, const std::vector<std::string>& specs = {}) {
    std::ofstream(path_) << json;
    return load_rules({.specs = specs, .config = path_}, catalog(), readers());
  }
  // The only rule of a configuration, by its entry without the name.
  RuleConfiguration rule_with(const std::string& rest) {
    const LoadedRules loaded = load(R"([{"RuleConfigurationName": "r", )" + rest + "}]");
    EXPECT_THAT(texts_of(loaded.errors), IsEmpty());
    return loaded.rules.empty() ? RuleConfiguration() : loaded.rules.front();
  }
  RuleConfiguration with_parameters(const std::string& parameters) {
    return rule_with(R"("RuleParameters": {"rule_to_invoke": "Texts", )" + parameters + "}");
  }
  // Errors and warnings without the name of the file.
  std::vector<std::string> errors(std::string_view json) { return cut(load(json).errors); }
  std::vector<std::string> warnings(std::string_view json) { return cut(load(json).warnings); }

 private:
  std::vector<std::string> cut(std::vector<RuleProblem> problems) {
    for (RuleProblem& problem : problems) {
      EXPECT_EQ(problem.file, path_);
      problem.file = "rules.json";
    }
    return texts_of(problems);
  }
  ScratchDirectory scratch_;
  std::string path_ = (scratch_ / "rules.json").string();
};

TEST_F(Configurations, may_be_an_array_or_wrapped_beside_other_sections) {
  EXPECT_THAT(names_of(load(R"([{"RuleConfigurationName": "Texts"}])")), ElementsAre("Texts"));
  const LoadedRules loaded =
      load(R"({"DebugHookConfig": {}, "TensorBoardOutputConfig": 7, "DebugRuleConfigurations": [
                {"RuleConfigurationName": "Texts"}, {"RuleConfigurationName": "Limits"}]})");
  EXPECT_THAT(names_of(loaded), ElementsAre("Texts", "Limits"));
  EXPECT_THAT(texts_of(loaded.warnings), IsEmpty());
  EXPECT_THAT(load(R"({"DebugRuleConfigurations": null})").rules, IsEmpty());
}

TEST_F(Configurations, name_their_rule_or_are_called_like_it) {
  EXPECT_EQ(with_parameters(R"("a": "1")").definition->name, "Texts");
  EXPECT_EQ(with_parameters(R"("a": "1")").name, "r");
  EXPECT_THAT(names_of(load(R"([{"RuleConfigurationName": "limits",
                                 "RuleParameters": {"rule_to_invoke": null}}])")),
              ElementsAre("limits"));
  EXPECT_THAT(errors(R"([{"RuleConfigurationName": "r", "RuleParameters": null}])"),
              ElementsAre(HasSubstr("r: unknown rule \"r\"")));
}

TEST_F(Configurations, take_rules_of_files) {
  const RuleConfiguration rule = rule_with(
      R"("RuleParameters": {"source_s3_uri": "two.lua", "rule_to_invoke": "Second", "p": "1"})");
  EXPECT_EQ(rule.definition->name, "Second");
  EXPECT_EQ(rule.definition->file, "two.lua");
  // The only rule of a file is meant where the entry names none.
  EXPECT_EQ(rule_with(R"("RuleParameters": {"source_s3_uri": "one.lua"})").definition->name,
            "Only");
}

TEST_F(Configurations, hand_the_rule_its_own_parameters_only) {
  const RuleConfiguration rule =
      with_parameters(R"("action_json": "{}", "other_trial_0": "a", "other_trials": "b",
                         "threshold": "1")");
  EXPECT_THAT(rule.parameters, ElementsAre(Pair("threshold", "1")));
}

TEST_F(Configurations, take_numbers_booleans_and_arrays_as_parameters_and_null_as_none) {
  EXPECT_THAT(
      with_parameters(R"("a": 1e-7, "b": 3, "c": true, "d": ["x,y", "z"], "e": null)").parameters,
      ElementsAre(Pair("a", "1e-07"), Pair("b", "3"), Pair("c", "true"),
                  Pair("d", R"(["x,y","z"])")));
}

TEST_F(Configurations, take_actions_as_json_too) {
  for (const char* actions :
       {R"({"name": "log"})", R"([{"name": "log"}])", R"("{\"name\": \"log\"}")"}) {
    const auto rule = with_parameters(R"("action_json": )" + std::string(actions));
    EXPECT_THAT(rule.actions, SizeIs(1)) << actions;
  }
  EXPECT_THAT(warnings(R"([{"RuleConfigurationName": "Texts",
                            "RuleParameters": {
                              "action_json": {"name": "shout"}}}])"),
              ElementsAre(AllOf(StartsWith("rules.json:3: Texts: "), HasSubstr("shout"))));
}

TEST_F(Configurations, order_other_trials_by_number_before_the_lists) {
  const RuleConfiguration rule = rule_with(
      R"("RuleParameters": {"rule_to_invoke": "Compares", "other_trial_10": "k", "other_trial_2": " c ",
         "other_trial": "y", "other_trials": "a, b"})");
  EXPECT_THAT(rule.other_trials, ElementsAre("c", "k", "a", "b", "y"));
}

TEST_F(Configurations, keep_parameters_whose_names_only_begin_like_other_trials) {
  EXPECT_THAT(with_parameters(R"("other_trial_x": "kept")").parameters,
              ElementsAre(Pair("other_trial_x", "kept")));
}

TEST_F(Configurations, leave_out_other_trials_that_are_not_given) {
  const RuleConfiguration rule =
      with_parameters(R"("other_trials": "None", "other_trial_0": " ", "p": "None")");
  EXPECT_THAT(rule.other_trials, IsEmpty());
  EXPECT_THAT(rule.parameters, ElementsAre(Pair("p", "None")));
}

TEST_F(Configurations, read_collections_as_a_hook_does) {
  const RuleConfiguration rule = rule_with(
      R"("RuleParameters": {"rule_to_invoke": "Texts"},
         "CollectionConfigurations": [{"CollectionName": "relus", "CollectionParameters":
         {"include_regex": "relu", "train.save_interval": 7}}])");
  ASSERT_THAT(rule.collections, SizeIs(1));
  EXPECT_EQ(rule.collections[0].name, "relus");
  EXPECT_EQ(rule.collections[0].parameters.times.over({}).mode(Mode::Train).save_interval, 7);
  EXPECT_EQ(rule.collections[0].parameters.times.over({}).mode(Mode::Eval).save_interval, 500);
}

TEST_F(Configurations, read_how_the_rule_is_run) {
  const std::string texts = R"("RuleParameters": {"rule_to_invoke": "Texts"}, )";
  const RuleConfiguration rule =
      rule_with(texts + R"("RunnerParameters": {"start_step": "3", "end_step": 9,
                           "stop_on_first_fire": "True"})");
  EXPECT_EQ(rule.start_step, 3);
  EXPECT_EQ(rule.end_step, 9);
  EXPECT_EQ(rule.stop_at_first, true);
  EXPECT_EQ(rule_with(texts + R"("RunnerParameters": {"raise_eval_cond": true})").stop_at_first,
            true);
  EXPECT_FALSE(rule_with(texts + R"("RunnerParameters": null)").start_step);
  EXPECT_THAT(warnings(R"([{"RuleConfigurationName": "Texts",
                            "RunnerParameters": {"workers": "a, b"}}])"),
              ElementsAre(HasSubstr("rules judge the tensors of all workers")));
}

TEST_F(Configurations, warn_of_unknown_keys_but_not_of_the_services) {
  EXPECT_THAT(warnings(R"([{"RuleConfigurationName": "Texts", "RuleEvaluatorImage": "i",
                            "InstanceType": "m", "VolumeSizeInGB": 1, "S3OutputPath": "s3://b",
                            "LocalPath": "/x"}])"),
              IsEmpty());
  EXPECT_THAT(warnings(R"([{"RuleConfigurationName": "Texts", "RuleParameter": {}}])"),
              ElementsAre(AllOf(StartsWith("rules.json:1: [0]: the key \"RuleParameter\""),
                                HasSubstr("\"RuleParameters\""))));
}

TEST_F(Configurations, report_mistakes_of_structure_with_keys_and_lines) {
  const auto found = errors(R"({"DebugRuleConfigurations": [
    {"RuleConfigurationName": "a", "RuleParameters": {"rule_to_invoke": "Texts", "p": {"q": 1}}},
    {"RuleConfigurationName": "a", "RunnerParameters": {"start_step": -1}},
    {"RuleParameters": []},
    7]})");
  EXPECT_THAT(
      found,
      ::testing::IsSupersetOf(
          {StartsWith("rules.json:2: DebugRuleConfigurations[0].RuleParameters.p: must be text, a "
                      "number, a boolean or an array, not an object of 1, in \""),
           StartsWith("rules.json:3: DebugRuleConfigurations[1].RuleConfigurationName: must be a "
                      "name that no other entry has, not \"a\""),
           StartsWith("rules.json:3: DebugRuleConfigurations[1].RunnerParameters.start_step: must "
                      "be a whole number from 0 to 9223372036854775807, not -1"),
           StartsWith("rules.json:4: DebugRuleConfigurations[2].RuleConfigurationName: must be a "
                      "name of 1 to 256 characters, not missing"),
           StartsWith("rules.json:4: DebugRuleConfigurations[2].RuleParameters: must be an object "
                      "or null, not []"),
           StartsWith("rules.json:5: DebugRuleConfigurations[3]: must be an object, not 7")}));
}

TEST_F(Configurations, report_five_different_mistakes_with_their_lines_at_once) {
  EXPECT_THAT(errors(R"([
  {"RuleConfigurationName": "one",
   "RuleParameters": {"rule_to_invoke": "Limit"}},
  {"RuleConfigurationName": "two",
   "RuleParameters": {
     "rule_to_invoke": "Limits",
     "limit": "-1",
     "limt": 3}},
  {"RuleConfigurationName": "three",
   "RuleParameters": {"rule_to_invoke": "Needy"},
   "RunnerParameters": {
     "start_step": "soon"}}
])"),
              ElementsAre("rules.json:3: one: unknown rule \"Limit\", in \"\"RuleParameters\": "
                          "{\"rule_to_invoke\": \"Limit\"}},\"; did you mean Limits?",
                          HasSubstr(":7: two: Limits: parameter limit is \"-1\"; legal is"),
                          AllOf(HasSubstr(":8: two: Limits: unknown parameter \"limt\""),
                                HasSubstr("did you mean limit?")),
                          AllOf(HasSubstr(":9: three: "), HasSubstr("what is not given")),
                          HasSubstr(":12: [2].RunnerParameters.start_step: must be a whole")));
}

TEST_F(Configurations, of_which_names_look_like_numbered_ones_stay_apart) {
  const LoadedRules loaded = load(R"([{"RuleConfigurationName": "Limits#2",
                                       "RuleParameters": {"rule_to_invoke": "Limits"}}])",
                                  {"Limits", "Limits"});
  EXPECT_THAT(names_of(loaded), ElementsAre("Limits#2", "Limits", "Limits#3"));
}

TEST_F(Configurations, leave_out_a_rule_with_a_mistake) {
  const LoadedRules loaded =
      load(R"([{"RuleConfigurationName": "Texts", "RunnerParameters": {"start_step": -1}},
               {"RuleConfigurationName": "Limits"}])");
  EXPECT_THAT(names_of(loaded), ElementsAre("Limits"));
  EXPECT_THAT(loaded.errors, SizeIs(1));
}

TEST_F(Configurations, report_the_errors_of_their_files_behind_their_own) {
  const LoadedRules loaded = load(R"([
    {"RuleConfigurationName": "x", "RuleParameters": {"source_s3_uri": "bad.lua"}},
    {"RuleConfigurationName": "Limits", "RuleParameters": {"limit": "x"}}])");
  ASSERT_THAT(loaded.errors, SizeIs(3));
  EXPECT_EQ(loaded.errors[0].line, 3);
  EXPECT_EQ(loaded.errors[1].file, "bad.lua");
  EXPECT_EQ(loaded.errors[2].file, "bad.lua");
}

TEST_F(Configurations, report_a_file_that_cannot_be_read_at_the_entry_and_once) {
  const LoadedRules loaded = load(R"([
    {"RuleConfigurationName": "x", "RuleParameters": {"rule_to_invoke": "A",
     "source_s3_uri": "absent.lua"}},
    {"RuleConfigurationName": "y", "RuleParameters": {"source_s3_uri": "absent.lua"}}])");
  ASSERT_THAT(loaded.errors, SizeIs(1));
  EXPECT_THAT(loaded.errors[0].file, EndsWith("rules.json"));
  EXPECT_EQ(loaded.errors[0].line, 3);
  EXPECT_EQ(loaded.errors[0].message, "x: there is no file absent.lua");
  EXPECT_THAT(texts_of(load_specs({"absent.lua"}).errors),
              ElementsAre("there is no file absent.lua"));
}

TEST_F(Configurations, of_a_key_given_twice_have_the_last) {
  EXPECT_THAT(with_parameters(R"("p": "1", "p": "2")").parameters, ElementsAre(Pair("p", "2")));
}

std::string entries(std::size_t count) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") + (R"({"RuleConfigurationName":")" + std::to_string(i)) +
            R"(", "RuleParameters": {"rule_to_invoke": "Texts"}})";
  return text + "]";
}

TEST_F(Configurations, hold_at_most_what_they_may) {
  EXPECT_THAT(load(entries(20)).rules, SizeIs(20));
  EXPECT_THAT(errors(entries(21)), ElementsAre(HasSubstr("must be at most 20 rules, not 21")));
}

TEST_F(Configurations, that_cannot_be_read_are_named) {
  const LoadedRules loaded =
      load_rules({.specs = {"Limits"}, .config = "/nowhere/rules.json"}, catalog(), readers());
  EXPECT_THAT(texts_of(loaded.errors),
              ElementsAre(StartsWith("/nowhere/rules.json: the configuration cannot be read")));
  EXPECT_THAT(names_of(loaded), ElementsAre("Limits"));
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

std::string named(const std::string& rest) {
  return R"([{"RuleConfigurationName": "Texts", )" + rest + "}]";
}

struct Hostile {
  const char* name;
  std::function<std::string()> text;
  const char* refused_with;
};

void PrintTo(const Hostile& row, std::ostream* out) { *out << row.name; }

const Hostile kHostile[] = {
    {"nothing", [] { return std::string(); }, "this is no JSON"},
    {"an_open_array", [] { return std::string("[{"); }, "this is no JSON"},
    {"two_values", [] { return std::string("[] []"); }, "this is no JSON"},
    {"null", [] { return std::string("null"); }, "must be an array, or an object"},
    {"a_number", [] { return std::string("1"); }, "must be an array, or an object"},
    {"an_object_of_something_else", [] { return std::string("{}"); }, "has the key"},
    {"a_wrapped_object", [] { return std::string(R"({"DebugRuleConfigurations": {}})"); },
     "must be an array or null"},
    {"deep_nesting", [] { return repeated("[", 1'000'000); }, "nests at most 64 deep"},
    {"deep_nesting_in_a_parameter",
     [] {
       return named("\"RuleParameters\": {\"p\": " + repeated("[", 100) + repeated("]", 100) + "}");
     },
     "nests at most 64 deep"},
    {"more_than_16_MiB", [] { return "[\"" + std::string(std::size_t{17} << 20U, 'x') + "\"]"; },
     "at most 16 MiB"},
    {"a_long_name",
     [] { return R"([{"RuleConfigurationName": ")" + std::string(257, 'n') + "\"}]"; },
     "a name of 1 to 256 characters"},
    {"a_long_key",
     [] { return named("\"RuleParameters\": {\"" + std::string(257, 'k') + "\": 1}"); },
     "1 to 256 characters, not 257"},
    {"a_long_value",
     [] { return named("\"RuleParameters\": {\"p\": \"" + std::string(16'385, 'v') + "\"}"); },
     "at most 16384 characters, not 16385"},
    {"too_many_parameters",
     [] {
       std::string text = "\"RuleParameters\": {";
       for (int i = 0; i < 101; ++i) text += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": 1";
       return named(text + "}");
     },
     "at most 100 parameters, not 101"},
    {"a_pattern_that_does_not_compile",
     [] {
       return named(R"("CollectionConfigurations": [{"CollectionName": "c",
                       "CollectionParameters": {"include_regex": "("}}])");
     },
     "must be a regular expression"},
    {"workers_of_the_wrong_type", [] { return named(R"("RunnerParameters": {"workers": 3})"); },
     "a comma list or an array of names of workers"},
    {"bytes_that_are_not_utf8", [] { return std::string("[\"\xff\"]"); }, "this is no JSON"},
};

class HostileConfigurations : public Configurations,
                              public ::testing::WithParamInterface<Hostile> {};

TEST_P(HostileConfigurations, are_errors_of_a_few_lines) {
  const std::vector<std::string> found = errors(GetParam().text());
  ASSERT_THAT(found, ::testing::Not(IsEmpty()));
  EXPECT_THAT(found, ::testing::Contains(HasSubstr(GetParam().refused_with)));
  for (const std::string& error : found) EXPECT_LT(error.size(), 1500U);
}

INSTANTIATE_TEST_SUITE_P(Table, HostileConfigurations, ::testing::ValuesIn(kHostile),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace cupel::testing
