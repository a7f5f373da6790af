#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "cli/cli_fixture.h"
#include "command_log.h"
#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/scripting/lua_rules.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kCommands = {"demo", "info",  "steps", "tensors",
                                            "show", "watch", "rules"};

void expect_error(const std::vector<std::string>& arguments, const std::string& message) {
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr(message));
}

TEST(CommandLine, the_version_is_printed) {
  const Ran ran = run({"--version"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, StartsWith("cupel "));
}

TEST(CommandLine, help_lists_every_command_and_the_exit_codes) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.code, kExitFine);
  for (const std::string& command : kCommands)
    EXPECT_THAT(ran.out, HasSubstr("\n  " + command + " "));
  EXPECT_THAT(ran.out, HasSubstr("exit codes: 0 fine"));
}

TEST(CommandLine, every_command_has_help_with_an_example) {
  for (const std::string& command : kCommands) {
    const Ran ran = run({command, "--help"});
    EXPECT_EQ(ran.code, kExitFine);
    EXPECT_THAT(ran.out, HasSubstr("examples\n  cupel " + command));
  }
}

TEST(CommandLine, no_command_is_an_error_that_lists_them) {
  expect_error({}, "the commands are demo, info, steps");
}

TEST(CommandLine, an_unknown_command_is_answered_with_the_nearest) {
  expect_error({"wach", "runs"}, "unknown command \"wach\"; did you mean watch?");
  expect_error({"xyzzy"}, "unknown command \"xyzzy\"; the commands are");
}

TEST(CommandLine, an_unknown_option_is_answered_with_the_nearest) {
  expect_error({"watch", "--rul", "VanishingGradient", "runs"},
               "cupel watch: unknown option --rul; did you mean --rule?");
  expect_error({"steps", "runs", "--moed=TRAIN"}, "unknown option --moed; did you mean --mode?");
}

TEST(CommandLine, what_is_missing_or_too_much_is_named) {
  expect_error({"steps"}, "TRIAL is required");
  expect_error({"show", "runs"}, "TENSOR is required");
  expect_error({"steps", "a", "b"}, "unexpected argument \"b\"");
  expect_error({"watch", "runs", "--rule", "A", "B"}, "each rule takes a --rule of its own");
  expect_error({"show", "runs", "t", "--step", "x"}, "--step");
}

TEST(CommandLine, numbers_out_of_range_are_refused) {
  for (const char* option : {"--step", "--start-step", "--end-step", "--last", "--width"})
    for (const char* number : {"-1", "-9223372036854775809", "99999999999999999999", "1.5", ""})
      expect_error({"show", "runs", "t", option, number}, std::string(option) + ": takes a whole");
  expect_error({"tensors", "runs", "--step", "-1"}, "--step: takes a whole number of at least 0");
  for (const char* option : {"--start-step", "--end-step"})
    expect_error({"watch", "runs", "--rule", "A", option, "-5"},
                 std::string(option) + ": takes a whole number of at least 0, not \"-5\"");
  expect_error({"watch", "runs", "--rule", "A", "--jobs", "0"},
               "--jobs: takes a whole number from 1 to 1000, not \"0\"");
  expect_error({"demo", "--seed", "-1"}, "--seed: takes a whole number of at least 0");
  expect_error({"show", "runs", "t", "--last", "0"}, "--last: takes a whole number of at least 1");
  expect_error({"show", "runs", "t", "--width", "39"}, "--width: takes a whole number from 40");
}

TEST_F(CliTest, a_number_is_decimal_whatever_it_begins_with) {
  WorkerWriter(store_).save_steps({8, 10}).finish();
  EXPECT_EQ(run({"show", path(), "loss", "--step", "010", "--json"}).json()["step"], 10);
}

TEST(CommandLine, control_characters_in_arguments_do_not_reach_the_terminal) {
  expect_error({"a\x1b[2J"}, "unknown command \"a\\x1b[2J\"");
}

TEST(CommandLine, output_that_cannot_be_written_is_an_error) {
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(run_cli({"rules"}, out, err), kExitError);
  EXPECT_THAT(err.str(), HasSubstr("the results could not be written"));
}

TEST(CommandLine, help_has_the_table_of_exit_codes) {
  const Ran ran = run({"--help"});
  EXPECT_THAT(ran.out, HasSubstr("2 an error, or something asked for by name is missing"));
  EXPECT_THAT(ran.out, HasSubstr("130 interrupted by a signal"));
}

/// Every command that takes a run, over a path.
std::vector<std::vector<std::string>> commands_over(const std::string& path) {
  return {{"info", path},
          {"steps", path},
          {"tensors", path},
          {"show", path, "loss"},
          {"diff", path, path},
          {"watch", path, "--rule", "ExplodingTensor", "--no-wait"},
          {"check", path, "--rule", "ExplodingTensor"},
          {"verify", path},
          {"copy", path, path + "-copy"}};
}

TEST_F(CliTest, a_path_without_anything_is_told_with_the_nearest) {
  WorkerWriter(store_).save_steps({0});
  for (const auto& arguments : commands_over(file("rum")))
    expect_error(arguments, "cupel " + arguments[0] + ": There is no directory " + file("rum") +
                                "; did you mean " + path() + "?\n");
}

TEST_F(CliTest, a_directory_that_is_no_run_is_told_with_the_runs_below_it) {
  WorkerWriter(store_).save_steps({0});
  LocalStore other(file("deeper/other"));
  WorkerWriter(other).save_steps({0});
  for (const auto& arguments : commands_over(scratch_.path())) {
    if (arguments[0] == "copy") continue;
    expect_error(arguments, scratch_.path() + " is not a run; below it are: " +
                                file("deeper/other") + ", " + path() + "\n");
  }
}

TEST_F(CliTest, a_path_that_is_no_run_is_told_for_what_it_is) {
  WorkerWriter(store_).save_steps({0});
  scratch_.add_to_file("a_file", "text");
  std::filesystem::create_directory(file("empty"));
  for (const auto& [place, what] : std::vector<std::pair<std::string, std::string>>{
           {file("a_file"), " is a file; a run is a directory"},
           {path() + "/index", " is not a run; it is a part of the run "},
           {file("empty"), " is not a run: there is no collections/000000000/"}})
    expect_error({"info", place}, place + what);
}

TEST_F(CliTest, a_path_to_write_to_is_told_for_what_it_is) {
  WorkerWriter(store_).save_steps({0}).finish();
  scratch_.add_to_file("a_file", "text");
  expect_error({"copy", path(), file("a_file")}, "DST is a file, not a directory: ");
  expect_error({"watch", path(), "--rule", "ExplodingTensor", "--out", file("no/lines")},
               "There is no directory " + file("no") + ", to write ");
}

TEST_F(CliTest, what_is_asked_for_by_name_and_not_there_is_an_error_in_every_command) {
  WorkerWriter(store_).save_steps({0, 10}).finish();
  const std::string place = path();
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"steps", place, "--tensor", "lsos"},
                                             {"steps", place, "--mode", "TRIAN"},
                                             {"tensors", place, "--collection", "gradient"},
                                             {"tensors", place, "--step", "5"},
                                             {"tensors", place, "--step", "0", "--mode", "EVAL"},
                                             {"show", place, "lsos"},
                                             {"show", place, "loss", "--step", "5"},
                                             {"show", place, "loss", "--worker", "worker_1"},
                                             {"diff", place, place, "--collection", "gradient"},
                                             {"diff", place, place, "--mode", "TRIAN"},
                                             {"watch", place, "--rule", "Exploding"},
                                             {"rules", "Exploding"}})
    expect_error(arguments, "cupel " + arguments[0] + ": ");
}

TEST_F(CliTest, a_known_collection_without_tensors_is_no_error) {
  WorkerWriter(store_).collection("mine", {"nothing"}).save_steps({0}).finish();
  for (const char* name : {"mine", "gradients"}) {  // listed by the run; built in
    const Ran ran = run({"tensors", path(), "--collection", name, "--json"});
    EXPECT_EQ(ran.code, kExitFine) << name;
    EXPECT_EQ(ran.out, "[]\n") << name;
  }
}

TEST(CommandLog, has_the_form_of_what_commands_say) {
  std::ostringstream err;
  const LogSink sink = command_log_sink("cupel watch", err);
  sink(LogLevel::Info, "not asked for");
  sink(LogLevel::Warning, "slow\x1b[2J");
  sink(LogLevel::Error, "lost");
  command_log_sink("cupel", err)(LogLevel::Error, "lost");
  EXPECT_EQ(err.str(), "cupel watch: warning: slow\\x1b[2J\ncupel watch: lost\ncupel: lost\n");
}

TEST(RulesCommand, lists_the_rules) {
  const Ran ran = run({"rules"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_THAT(ran.out, ::testing::ContainsRegex("\nExplodingTensor +NaN or infinities"));
  EXPECT_THAT(ran.out, HasSubstr("\nVanishingGradient  "));
}

TEST(RulesCommand, as_json_is_an_array_of_objects) {
  const Json rules = run({"rules", "--json"}).json();
  std::vector<std::string> names;
  for (const Json& rule : rules) names.push_back(rule["name"]);
  std::vector<std::string> known;
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical))
    known.push_back(rule->name);
  EXPECT_EQ(names, known);
}

TEST(RulesCommand, describes_one_rule) {
  const Ran ran = run({"rules", "vanishing_gradient"});
  EXPECT_THAT(ran.out, StartsWith("VanishingGradient: "));
  EXPECT_THAT(ran.out, HasSubstr("threshold  float  1e-7"));
  const Json rule = run({"rules", "VanishingGradient", "--json"}).json();
  EXPECT_EQ(rule["parameters"][0]["name"], "threshold");
  EXPECT_EQ(rule["parameters"][0]["default"], "1e-7");
  EXPECT_EQ(rule["parameters"][0]["required"], false);
}

TEST(RulesCommand, a_description_ends_what_json_says_and_stands_within_80_columns_for_people) {
  const Json rule = run({"rules", "VanishingGradient", "--json"}).json();
  std::vector<std::string> keys;
  for (const auto& item : rule.items()) keys.push_back(item.key());
  EXPECT_THAT(keys,
              ::testing::ElementsAre("name", "summary", "reads", "parameters", "description"));
  EXPECT_THAT(rule["description"], HasSubstr("\n\n    abs_mean = mean(|g|) < threshold\n\n"));
  const std::string text = run({"rules", "VanishingGradient"}).out;
  EXPECT_THAT(text, HasSubstr("\n\n    abs_mean = mean(|g|) < threshold\n\n"));
  std::istringstream lines(text.substr(0, text.find("\nreads  ")));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(RulesCommand, what_it_prints_to_be_copied_is_accepted) {
  const auto errors_of = [](const std::string& spec) {
    return to_json(load_rules({.specs = {spec}}, builtin_rules(), {lua_rule_reader()}).errors);
  };
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical)) {
    const std::string text = run({"rules", rule->name}).out;
    EXPECT_EQ(errors_of(rule->example), "[]") << rule->name;
    std::size_t commands = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kCommand = "cupel watch TRIAL --rule ";
      if (!line.starts_with(kCommand)) continue;
      ++commands;
      std::string spec = line.substr(kCommand.size());
      std::erase(spec, '\'');  // as a shell does
      EXPECT_EQ(errors_of(spec), "[]") << spec;
    }
    EXPECT_EQ(commands, 2U) << rule->name;
  }
}

TEST(RulesCommand, writes_a_page_of_each_rule_and_a_table_of_them) {
  const ScratchDirectory scratch;
  const std::filesystem::path pages = scratch / "docs/rules";
  EXPECT_EQ(run({"rules", "--markdown", pages.string()}).code, kExitFine);
  const auto text_of = [&](const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(pages / name).rdbuf();
    return text.str();
  };
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical)) {
    const std::string& name = rule->name;
    EXPECT_THAT(text_of(name + ".md"), StartsWith("# " + name + "\n"));
    EXPECT_THAT(text_of("README.md"), HasSubstr("[" + name + "](" + name + ".md)"));
  }
  EXPECT_THAT(text_of("SaturatedActivation.md"),
              HasSubstr("| `tensor_regex` | list | `.*tanh_input\\|.*sigmoid_input` |"));
}

TEST(RulesCommand, says_where_pages_cannot_be_written) {
  const ScratchDirectory scratch;
  scratch.add_to_file("file", "");
  expect_error({"rules", "--markdown", (scratch / "file/docs").string()}, "cannot make");
  expect_error({"rules", "VanishingGradient", "--markdown", scratch.path()}, "--markdown");
}

TEST(RulesCommand, quotes_what_a_shell_would_not_leave_as_it_is) {
  EXPECT_THAT(run({"rules", "SaturatedActivation"}).out,
              HasSubstr("SaturatedActivation,tensor_regex='.*tanh_input|.*sigmoid_input',"
                        "threshold_tanh_min=-9.4999,"));
}

TEST(RulesCommand, calls_a_required_parameter_required) {
  const Ran ran = run({"rules", "SimilarAcrossRuns"});
  EXPECT_THAT(ran.out,
              ::testing::ContainsRegex("\nother_trials +text +required +the path of the run"));
  const Json page = run({"rules", "SimilarAcrossRuns", "--json"}).json();
  const auto of = [&page](const std::string& name) {
    for (const Json& parameter : page["parameters"])
      if (parameter["name"] == name) return parameter;
    return Json();
  };
  EXPECT_EQ(of("other_trials")["required"], true);
  EXPECT_EQ(of("other_trials")["default"], nullptr);
  EXPECT_EQ(of("rtol")["required"], false);
}

TEST(RulesCommand, answers_an_unknown_rule_with_the_nearest) {
  expect_error({"rules", "Vanishing"}, "did you mean VanishingGradient?");
}

}  // namespace
}  // namespace cupel::testing
