// The scripts of `cupel completion` in real shells, over a run whose tensor names want to be run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cupel/store/local_store.h"
#include "process/program.h"
#include "store/scratch_directory.h"
#include "trial/run_builder.h"

namespace cupel::testing {
namespace {

using ::testing::UnorderedElementsAreArray;
using Words = std::vector<std::string>;

const Words kHostileNames = {"$(touch pwned)",
                             "`touch pwned`",
                             "'; touch pwned; '",
                             "a b",
                             "\"$(touch pwned)",
                             "fc1.weight:0",
                             "*",
                             "--touch",
                             "&& touch pwned"};

// A directory with the command `cupel` and the run "run", where shells are started.
class ShellTest : public ::testing::Test {
 protected:
  ShellTest() {
    LocalStore store((scratch_ / "run").string());
    std::vector<SavedTensor> tensors;
    for (const std::string& name : kHostileNames) tensors.push_back(raw(name, {1}));
    WorkerWriter(store).save(0, std::move(tensors)).finish();
    std::filesystem::create_symlink(CUPEL_COMMAND, scratch_ / "cupel");
  }

  // What the script prints; nothing of what it reads was run.
  Words printed(const Words& shell, const std::string& script) {
    Words command = {"/usr/bin/env", "-C", scratch_.path(),
                     "PATH=" + scratch_.path() + ":/usr/bin:/bin", "HOME=" + scratch_.path()};
    command.insert(command.end(), shell.begin(), shell.end());
    command.push_back(script);
    cupel::Program program(command);
    Words lines = program.rest();
    EXPECT_EQ(program.end(), 0);
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "pwned"));
    return lines;
  }

  ScratchDirectory scratch_;
};

TEST_F(ShellTest, bash_runs_nothing_of_a_name_that_it_completes) {
  // Each reply is read by bash as if it had been typed; what comes of it is the name.
  const std::string script = R"(
source <(cupel completion bash)
COMP_LINE="cupel show run " COMP_POINT=${#COMP_LINE} COMP_WORDS=(cupel show run "") COMP_CWORD=3
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
_cupel
for reply in "${COMPREPLY[@]}"; do
  eval "set -- $reply"
  [[ $# == 1 ]] || exit 1
  printf '%s\n' "$1"
done)";
  EXPECT_THAT(printed({"bash", "--norc", "-c"}, script), UnorderedElementsAreArray(kHostileNames));
}

TEST_F(ShellTest, zsh_gets_the_names_as_they_are) {
  if (::access("/usr/bin/zsh", X_OK) != 0) GTEST_SKIP() << "no zsh here";
  const std::string script = R"(
compdef() { : }
source <(cupel completion zsh)
compadd() { shift; print -rl -- "$@" }
words=(cupel show run "") CURRENT=4 PREFIX=""
_cupel)";
  EXPECT_THAT(printed({"zsh", "-f", "-c"}, script), UnorderedElementsAreArray(kHostileNames));
}

TEST_F(ShellTest, fish_gets_the_names_as_they_are) {
  if (::access("/usr/bin/fish", X_OK) != 0) GTEST_SKIP() << "no fish here";
  const std::string script = "cupel completion fish | source\ncomplete -C 'cupel show run '";
  EXPECT_THAT(printed({"fish", "--no-config", "-c"}, script),
              UnorderedElementsAreArray(kHostileNames));
}

}  // namespace
}  // namespace cupel::testing
