// `cupel demo --torch`: the trainings are child processes. Where cupel is built without libtorch,
// only the tests with programs of shells are there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "cupel/trial/trial.h"
#include "demo.h"
#include "run_cli.h"
#include "store/scratch_directory.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class TorchDemo : public ::testing::Test {
 protected:
  // Runs the demo with this program in place of cupel-demo-torch.
  int run_with(const std::string& program) {
    const command_detail::Program cupel = cupel_program();
    return run_demo({.directory = path("demo"), .torch_program = program},
                    {.program = cupel, .command = "demo", .out = out_, .err = err_});
  }
  // A program that is a script for the shell.
  std::string script(const std::string& lines) {
    const std::string file = path("program");
    std::ofstream(file) << "#!/bin/sh\n" << lines;
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }
  std::string path(const std::string& name) { return (directory_ / name).string(); }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  testing::ScratchDirectory directory_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(TorchDemo, without_its_program_it_is_an_error_that_names_what_to_do) {
  EXPECT_EQ(run_with(path("nowhere")), 2);
  EXPECT_THAT(err(), HasSubstr(path("nowhere") + " is not there"));
  EXPECT_THAT(err(), HasSubstr("scripts/bootstrap.sh torch"));
  EXPECT_FALSE(fs::exists(path("demo")));
}

TEST_F(TorchDemo, a_program_that_cannot_be_started_is_an_error_with_the_reason) {
  const std::string program = script("exit 0\n");
  fs::permissions(program, fs::perms::owner_read);
  if (::access(program.c_str(), X_OK) == 0) GTEST_FAIL() << "the file system ignores modes";
  EXPECT_EQ(run_with(program), 2);
  EXPECT_THAT(err(), HasSubstr(program + " cannot be started: Permission denied"));
}

TEST_F(TorchDemo, a_program_that_fails_is_an_error_with_its_last_words) {
  EXPECT_EQ(run_with(script("echo first\necho libtorch.so is missing >&2\nexit 127\n")), 2);
  EXPECT_THAT(err(), HasSubstr("ended with exit code 127: libtorch.so is missing\n"));
}

// The judge waits for a run that never comes, unless it is stopped.
TEST_F(TorchDemo, a_program_that_fails_before_there_is_a_run_is_an_error_at_once) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run_with(script("echo begins\nexit 3\n")), 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(TorchDemo, a_program_that_is_killed_is_an_error_that_names_the_signal) {
  EXPECT_EQ(run_with(script("kill -9 $$\n")), 2);
  EXPECT_THAT(err(), HasSubstr("was killed by SIGKILL\n"));
}

TEST_F(TorchDemo, a_program_that_ends_without_a_word_is_an_error) {
  EXPECT_EQ(run_with(script("exit 0\n")), 2);
  EXPECT_THAT(err(), HasSubstr("ended without a line of output"));
}

TEST_F(TorchDemo, the_program_gets_seed_steps_run_and_disease) {
  EXPECT_EQ(run_with(script("echo \"$@\"\nexit 1\n")), 2);
  EXPECT_THAT(err(), HasSubstr("exit code 1: --seed 1 --steps "));
  EXPECT_THAT(err(), HasSubstr(path("demo/healthy") + "\n"));
}

#ifdef CUPEL_DEMO_TORCH

bool this_process_has_loaded(std::string_view library) {
  std::pair<std::string_view, bool> search(library, false);
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& [wanted, found] = *static_cast<std::pair<std::string_view, bool>*>(data);
        found = found || std::string_view(info->dlpi_name).find(wanted) != std::string_view::npos;
        return 0;
      },
      &search);
  return search.second;
}

// The real demo, once for all tests.
class TorchDemoRun : public ::testing::Test {
 protected:
  struct Ran {
    testing::ScratchDirectory directory;
    std::string demo = directory / "demo";
    std::ostringstream out, err;
    int code = run_cli({"demo", demo, "--torch"}, out, err);
  };
  static void SetUpTestSuite() { ran = new Ran; }
  static void TearDownTestSuite() { delete ran; }
  static Ran* ran;
};

TorchDemoRun::Ran* TorchDemoRun::ran = nullptr;

TEST_F(TorchDemoRun, finds_every_run_as_announced) {
  const std::string out = ran->out.str();
  ASSERT_EQ(ran->code, 0) << out << ran->err.str();
  EXPECT_THAT(out, HasSubstr("Three convolution networks are trained with seed 1"));
  EXPECT_THAT(out, Not(HasSubstr("NOT as announced")));
  EXPECT_THAT(out, HasSubstr("VanishingGradient  gradient/Net_conv1.weight"));
  EXPECT_EQ(ran->err.str(), "");
}

TEST_F(TorchDemoRun, the_healthy_network_reads_digits_that_it_has_not_seen) {
  const std::string out = ran->out.str();
  const std::string accuracy = "held-out accuracy ";
  ASSERT_THAT(out, HasSubstr(accuracy));
  EXPECT_GE(std::stod(out.substr(out.find(accuracy) + accuracy.size())), 90);
}

TEST_F(TorchDemoRun, the_exploding_training_is_stopped_by_its_judge) {
  EXPECT_THAT(ran->out.str(), HasSubstr("  stopped by its judge after "));
  EXPECT_TRUE(fs::exists(ran->demo + "/exploding/stop_training"));
  const auto trial = create_trial(ran->demo + "/exploding");
  EXPECT_LT(trial->tensor("loss").steps().size(), 2000U);
  EXPECT_TRUE(trial->ended());
}

TEST_F(TorchDemoRun, the_command_never_loads_libtorch) {
  ASSERT_EQ(ran->code, 0);
  EXPECT_FALSE(this_process_has_loaded("torch"));
  EXPECT_TRUE(this_process_has_loaded("libc.so"));
}

TEST_F(TorchDemoRun, runs_of_an_earlier_demo_are_replaced_and_another_seed_gives_others) {
  const auto first_loss = [] {
    return create_trial(ran->demo + "/healthy")->tensor("loss").value(0).at(0);
  };
  const double before = first_loss();
  std::ostringstream out, err;
  ASSERT_EQ(run_cli({"demo", ran->demo, "--torch", "--seed", "2"}, out, err), 0)
      << out.str() << err.str();
  EXPECT_NE(first_loss(), before);
}

// The judge waits for steps that never come, unless it is stopped.
TEST_F(TorchDemo, a_training_that_is_killed_in_the_middle_is_an_error_at_once) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run_with(script("run=\"$5\"\n"
                            "(until ls \"$run\"/index/*; do sleep 0.1; done; kill -9 $$) "
                            "> /dev/null 2>&1 &\n"
                            "exec " CUPEL_DEMO_TORCH " --steps 1000000 \"$run\"\n")),
            2);
  EXPECT_THAT(err(), HasSubstr("was killed by SIGKILL"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

#endif

}  // namespace
}  // namespace cupel
