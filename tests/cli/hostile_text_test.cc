// Text of strangers, with every class of characters that nobody sees or that move a cursor, through
// each way by which a command writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_fixture.h"
#include "command_log.h"
#include "core/hostile_text.h"
#include "shell_text.h"
#include "status_line.h"
#include "watch_status.h"

namespace cupel::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class HostileText : public CliTest {
 protected:
  HostileText() {
    writer_.collection("gradients", {}, {hostile_});
    writer_.collection(hostile_, {}, {hostile_});
    for (const std::int64_t step : {0, 10, 20})
      writer_.save(step, {reduced(hostile_, "abs_mean", step == 0 ? 1 : 1e-9), scalar("loss", 1.5),
                          texts("text", {hostile_}), texts("cupel/note", {hostile_})});
    writer_.finish();
  }

  /// Nothing is raw in what a command writes.
  Ran expect_escaped(const std::vector<std::string>& arguments) const {
    const Ran ran = run(arguments);
    EXPECT_THAT(raw_in(ran.out), IsEmpty()) << ::testing::PrintToString(arguments);
    EXPECT_THAT(raw_in(ran.err), IsEmpty()) << ::testing::PrintToString(arguments);
    for (const auto& [level, line] : log_.lines()) EXPECT_THAT(raw_in(line), IsEmpty());
    return ran;
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  /// A rule in Lua whose texts are hostile.
  std::string rule() const {
    std::string text;
    for (const char c : hostile_) {
      const std::string number = std::to_string(1000 + static_cast<unsigned char>(c));
      text += "\\" + number.substr(1);
    }
    return write("mine.lua", "local text = '" + text + R"('
      return cupel.rule { name = 'Mine', summary = text, params = { a = text },
        invoke_at_step = function() print(text) error(text) end })");
  }

  const std::string hostile_ = hostile_text();
  WorkerWriter writer_{store_};
};

TEST_F(HostileText, of_a_run_is_escaped_by_each_command_that_reads_it) {
  for (const bool json : {false, true}) {
    for (std::vector<std::string> arguments : std::vector<std::vector<std::string>>{
             {"info", path()},
             {"steps", path(), "--tensor", hostile_},
             {"tensors", path()},
             {"tensors", path(), "--long"},
             {"show", path(), hostile_},
             {"show", path(), "text"},
             {"show", path(), "text", "--step", "0"},
             {"show", path(), hostile_, "--step", "0"},
             {"diff", path(), path()},
             {"verify", path()},
             {"watch", path(), "--no-wait", "--rule", "VanishingGradient"},
             {"watch", path(), "--no-wait", "--rule", "VanishingGradient", "--all", "--explain"},
             {"watch", path(), "--no-wait", "--rule", rule()},
             {"check", path(), "--rule", "VanishingGradient"},
             {"rules", rule()}}) {
      if (json) arguments.emplace_back("--json");
      expect_escaped(arguments);
    }
  }
  expect_escaped({"show", path(), hostile_, "--reduction", "abs_mean", "--plot"});
  expect_escaped({"show", path(), hostile_, "--histogram"});
  EXPECT_EQ(run({"tensors", path(), "--json"}).json()[0], hostile_);
}

TEST_F(HostileText, on_the_command_line_is_escaped_in_errors) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {hostile_},
           {"info", hostile_},
           {"info", path(), hostile_},
           {"info", path(), "--" + hostile_},
           {"show", path(), "x" + hostile_},
           {"show", path(), hostile_, "--step", hostile_},
           {"show", path(), hostile_, "--worker", hostile_},
           {"tensors", path(), "--regex", "(" + hostile_},
           {"tensors", path(), "--collection", "x" + hostile_},
           {"tensors", path(), "--mode", hostile_},
           {"watch", path(), "--rule", hostile_},
           {"watch", path(), "--rule", "VanishingGradient," + hostile_ + "=1"},
           {"watch", path(), "--rule", "VanishingGradient,threshold=" + hostile_},
           {"watch", path(), "--action", hostile_},
           {"watch", path(), "--webhook-ca", hostile_},
           {"check", path(), "--rule", "all", "--profile", hostile_},
           {"rules", hostile_},
           {"completion", hostile_},
           {"completion", "--words", "show", path(), ""}})
    expect_escaped(arguments);
}

TEST_F(HostileText, as_the_name_of_a_rule_configuration_is_escaped_in_warnings) {
  const std::string config =
      write("rules.json",
            Json::array({{{"RuleConfigurationName", hostile_},
                          {"RuleParameters",
                           {{"rule_to_invoke", "VanishingGradient"}, {"action_json", hostile_}}},
                          {"RunnerParameters", {{"workers", "a"}, {hostile_, 1}}}}})
                .dump());
  expect_escaped({"check", path(), "--config", config});
  expect_escaped({"watch", path(), "--no-wait", "--config", config});
  EXPECT_THAT(log_.lines(), ::testing::Not(IsEmpty()));
}

TEST_F(HostileText, in_a_default_of_a_rule_is_quoted_in_the_command_to_copy) {
  const Ran ran = expect_escaped({"rules", rule()});
  EXPECT_THAT(ran.out, HasSubstr("mine.lua,a=$'h\\033\\015\\007\\177\\302\\233"));
  EXPECT_EQ(quoted_for_shell("a'\\\x1b$(x)`\n"), "$'a\\'\\\\\\033$(x)`\\012'");
  EXPECT_EQ(quoted_for_shell("a'b c"), "'a'\\''b c'");
}

TEST_F(HostileText, is_escaped_in_what_is_logged_and_in_the_line_that_changes) {
  std::ostringstream err;
  const LogSink sink = command_log_sink(hostile_, err);
  sink(LogLevel::Error, hostile_);
  EXPECT_THAT(raw_in(err.str()), IsEmpty());
  std::ostringstream screen;
  StatusLine line({.out = &screen, .columns = 300});
  line.show(hostile_);
  EXPECT_THAT(screen.str(), StartsWith("\rh\\x1b"));
  EXPECT_THAT(screen.str(), EndsWith("\x1b[K\r"));
}

TEST_F(HostileText, of_a_megabyte_is_cut_in_an_error) {
  const Ran ran = run({"tensors", path(), "--regex", "(" + std::string(1 << 20, 'x')});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_LT(ran.err.size(), 10'000U);
  EXPECT_THAT(ran.err, HasSubstr("... (1044481 bytes more)'"));
  EXPECT_THAT(ran.err, HasSubstr("missing closing parenthesis"));
}

TEST(Help, that_cannot_be_written_is_an_error) {
  for (const std::string arguments : {"--help", "--version", "watch --help", "help watch",
                                      "help --manual", "completion bash", "completion --words x"}) {
    const std::string command = std::string(CUPEL_COMMAND) + " " + arguments + " ";
    if (arguments.find("--words") == std::string::npos) {
      EXPECT_EQ(WEXITSTATUS(std::system((command + "> /dev/full 2> /dev/null").c_str())), 2)
          << arguments;
    }
    EXPECT_EQ(WEXITSTATUS(std::system((command + "> /dev/null").c_str())), 0) << arguments;
  }
}

TEST_F(CliTest, a_run_of_the_year_292277_has_a_status) {
  WorkerWriter writer(store_);
  constexpr std::int64_t kLate = std::numeric_limits<std::int64_t>::max() - 1;
  writer.save(At(0).when(kLate), {scalar("loss", 1)});
  EXPECT_THAT(run({"info", path()}).out, HasSubstr("status"));
  EXPECT_EQ(run({"info", path(), "--json"}).json()["silent_seconds"], 0);
  RunnerProgress progress;
  progress.newest_step = 1;
  EXPECT_THAT(watch_status_text(progress, 0, CommitTime(CommitTime::duration(kLate)),
                                commit_time(std::chrono::system_clock::now())),
              EndsWith("last step 0 s ago"));
}

}  // namespace
}  // namespace cupel::testing
