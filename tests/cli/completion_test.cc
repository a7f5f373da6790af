#include <gmock/gmock.h>

#include "cli/cli_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr const char* kBreaks = " \t\n\"'><=;|&(:";

Words lines_of_output(const Words& arguments) {
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.err, "");
  Words lines;
  std::istringstream stream(ran.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What comes in place of the last word.
Words completed(Words words) {
  words.insert(words.begin(), {"completion", "--words"});
  return lines_of_output(words);
}

// The replies that bash gets behind this text.
Words bash_replies(const std::string& line) {
  return lines_of_output({"completion", "--line", line, kBreaks});
}

class CompletionTest : public CliTest {
 protected:
  void save(const Words& names) {
    std::vector<SavedTensor> tensors;
    for (const std::string& name : names) tensors.push_back(raw(name, {1}));
    WorkerWriter(store_).save(0, std::move(tensors)).finish();
  }
};

TEST(Completion, a_script_is_printed_for_each_shell) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_THAT(run({"completion", shell}).out, HasSubstr("completion --")) << shell;
  const Ran other = run({"completion", "tcsh"});
  EXPECT_EQ(other.code, kExitError);
  EXPECT_THAT(other.err, HasSubstr("bash, zsh and fish, not for \"tcsh\""));
}

TEST(Completion, commands_are_completed) {
  EXPECT_THAT(completed({""}), IsSupersetOf({"demo", "info", "watch", "help", "completion"}));
  EXPECT_THAT(completed({"ste"}), ElementsAre("steps"));
  EXPECT_THAT(completed({"help", "ver"}), ElementsAre("verify"));
  EXPECT_THAT(completed({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
}

TEST(Completion, options_of_the_command_are_completed) {
  EXPECT_THAT(completed({"watch", "runs/x", "--no-w"}), ElementsAre("--no-wait"));
  EXPECT_THAT(completed({"watch", "--"}), IsSupersetOf({"--rule", "--json", "--help"}));
  EXPECT_THAT(completed({"steps", "--rul"}), IsEmpty());
  EXPECT_THAT(completed({"--ver"}), ElementsAre("--version"));
}

TEST(Completion, names_of_rules_are_completed) {
  EXPECT_THAT(completed({"watch", "runs/x", "--rule", "Vanish"}), ElementsAre("VanishingGradient"));
  EXPECT_THAT(completed({"watch", "runs/x", "--rule=Vanish"}),
              ElementsAre("--rule=VanishingGradient"));
  EXPECT_THAT(completed({"rules", "Dead"}), ElementsAre("DeadRelu"));
}

TEST(Completion, words_with_few_values_are_completed) {
  EXPECT_THAT(completed({"steps", "runs/x", "--mode", "E"}), ElementsAre("EVAL"));
  EXPECT_THAT(completed({"show", "r", "t", "--reduction", "abs_me"}),
              ElementsAre("abs_mean", "abs_median"));
  EXPECT_THAT(completed({"check", "hook.json", "--profile", "py"}), ElementsAre("pytorch"));
}

TEST_F(CompletionTest, tensors_of_the_run_are_completed) {
  save({"fc1.weight", "fc2.weight", "loss"});
  EXPECT_THAT(completed({"show", path(), "fc"}), ElementsAre("fc1.weight", "fc2.weight"));
  EXPECT_THAT(completed({"show", path(), "--step", "0", "l"}), ElementsAre("loss"));
  EXPECT_THAT(completed({"steps", path(), "--tensor", "fc2"}), ElementsAre("fc2.weight"));
  EXPECT_THAT(completed({"show", path(), "--worker", ""}), ElementsAre("worker_0"));
}

TEST_F(CompletionTest, collections_of_the_run_are_completed) {
  WorkerWriter(store_).collection("attention", {"attn"}).save_steps({0}).finish();
  EXPECT_THAT(completed({"tensors", path(), "--collection", "att"}), ElementsAre("attention"));
}

TEST_F(CompletionTest, a_run_that_cannot_be_read_gives_no_words_and_no_error) {
  EXPECT_THAT(completed({"show", path(), ""}), IsEmpty());
  EXPECT_THAT(completed({"show", "s3://bucket/run", ""}), IsEmpty());
  EXPECT_THAT(completed({"show", ""}), IsEmpty());
  EXPECT_THAT(completed({"xyzzy", ""}), IsEmpty());
}

TEST_F(CompletionTest, names_with_control_characters_are_left_out) {
  save({"a\nrm -rf", "a\x1b[2J", "a_plain_one"});
  EXPECT_THAT(completed({"show", path(), ""}), ElementsAre("a_plain_one"));
}

TEST_F(CompletionTest, bash_gets_names_in_which_nothing_is_special) {
  save({"$(reboot)", "a b", "it's;`ls`", "w*"});
  EXPECT_THAT(bash_replies("cupel show " + path() + " "),
              ElementsAre("\\$\\(reboot\\)", "a\\ b", "it\\'s\\;\\`ls\\`", "w\\*"));
  EXPECT_THAT(bash_replies("cupel show " + path() + " \\$\\("), ElementsAre("\\$\\(reboot\\)"));
}

TEST_F(CompletionTest, bash_gets_what_follows_the_last_character_that_breaks_words) {
  save({"scope:fc1:0", "scope:fc2:0"});
  EXPECT_THAT(bash_replies("cupel show " + path() + " scope:fc1"), ElementsAre("fc1:0"));
  EXPECT_THAT(bash_replies("cupel show " + path() + " scope\\:fc1"), ElementsAre("scope:fc1:0"));
  EXPECT_THAT(bash_replies("cupel watch x --rule=Vanish"), ElementsAre("VanishingGradient"));
}

TEST_F(CompletionTest, in_an_open_quote_bash_gets_plain_names_only) {
  save({"fc'$(reboot)'", "fc1.weight", "fc\"`ls`\""});
  for (const char quote : {'\'', '"'})
    EXPECT_THAT(bash_replies("cupel show " + path() + " " + quote + "fc"),
                ElementsAre("fc1.weight"));
  EXPECT_THAT(bash_replies("cupel show '" + path() + "' fc1"), ElementsAre("fc1.weight"));
  // Where bash begins to replace is not known there.
  EXPECT_THAT(bash_replies("cupel show " + path() + " 'f'c"), IsEmpty());
}

}  // namespace
}  // namespace cupel::testing
