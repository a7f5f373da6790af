#include <gmock/gmock.h>

#include "cli/cli_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Version, is_one_line_of_name_and_number) {
  EXPECT_THAT(run({"--version"}).out, MatchesRegex("cupel [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(HelpCommand, shows_what_the_options_show) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "watch"}).out, run({"watch", "--help"}).out);
  EXPECT_THAT(run({"help", "watch"}).out, HasSubstr("--idle-timeout"));
}

TEST(HelpCommand, answers_an_unknown_command_with_the_nearest) {
  const Ran ran = run({"help", "wach"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("did you mean watch?"));
}

TEST(ManualPage, holds_every_command_option_and_example) {
  const std::string page = run({"help", "--manual"}).out;
  EXPECT_THAT(page, StartsWith(".TH CUPEL 1"));
  for (const char* text :
       {".SS cupel demo [DIR]\n", ".SS cupel show TRIAL TENSOR\n", "\n\\fB\\-\\-no\\-wait\\fR\n",
        "\n  cupel info runs/mnist \\-\\-json\n", "exit codes: 0 fine"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(ManualPage, is_ascii_and_no_line_of_its_text_is_a_request_of_troff) {
  std::istringstream lines(run({"help", "--manual"}).out);
  for (std::string line; std::getline(lines, line);) {
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
    if (!line.starts_with('.')) continue;
    EXPECT_THAT(line, MatchesRegex("\\.(TH|SH|SS|TP|PP|nf|fi)( .*)?"));
  }
}

TEST(BuildInfo, names_version_stores_and_libraries) {
  const Json info = run({"info", "--build", "--json"}).json();
  EXPECT_EQ("cupel " + info["version"].get<std::string>() + "\n", run({"--version"}).out);
  EXPECT_EQ(info["schemes"][0], "file");
#ifdef CUPEL_WITH_S3
  EXPECT_EQ(info["schemes"][1], "s3");
#endif
  EXPECT_GE(info["rules"], 20);
  EXPECT_THAT(info["libraries"]["Arrow"], MatchesRegex("[0-9]+\\..*"));
  const std::string text = run({"info", "--build"}).out;
  EXPECT_THAT(text, AllOf(StartsWith("version "), HasSubstr("\nstores "), HasSubstr("\nArrow ")));
}

// `version` is that of the framework the component was built with, or null.
void expect_component(const std::string& name, const std::string& framework, const char* version) {
  const Json info = run({"info", "--build", "--json"}).json();
  const std::string text = run({"info", "--build"}).out;
  EXPECT_EQ(info["components"][name], version != nullptr);
  EXPECT_EQ(info["frameworks"].value(framework, ""), version == nullptr ? "" : version);
  EXPECT_FALSE(info["libraries"].contains(framework)) << "the command is not linked with it";
  if (version != nullptr)
    EXPECT_THAT(text, HasSubstr(name + " for " + framework + " " + version));
  else
    EXPECT_THAT(text, ContainsRegex("\noff [^\n]*" + name));
}

TEST(BuildInfo, has_the_adapter_for_libtorch_with_its_torch_or_names_it_as_off) {
#ifdef CUPEL_TORCH_VERSION
  expect_component("libtorch", "torch", CUPEL_TORCH_VERSION);
#else
  expect_component("libtorch", "torch", nullptr);
#endif
}

TEST(BuildInfo, has_the_adapter_for_xgboost_with_its_library_or_names_it_as_off) {
#ifdef CUPEL_XGBOOST_VERSION
  expect_component("xgboost", "XGBoost", CUPEL_XGBOOST_VERSION);
#else
  expect_component("xgboost", "XGBoost", nullptr);
#endif
}

TEST(BuildInfo, has_the_package_for_Python_with_its_Python_or_names_it_as_off) {
#ifdef CUPEL_PYTHON_VERSION
  expect_component("python", "Python", CUPEL_PYTHON_VERSION);
  const Json info = run({"info", "--build", "--json"}).json();
  EXPECT_EQ(info["libraries"]["nanobind"], CUPEL_NANOBIND_VERSION);
#else
  expect_component("python", "Python", nullptr);
#endif
}

TEST(BuildInfo, is_asked_for_in_place_of_a_run) {
  EXPECT_EQ(run({"info", "runs/x", "--build"}).code, kExitError);
  const Ran neither = run({"info"});
  EXPECT_EQ(neither.code, kExitError);
  EXPECT_THAT(neither.err, HasSubstr("TRIAL is required, or --build"));
}

}  // namespace
}  // namespace cupel::testing
