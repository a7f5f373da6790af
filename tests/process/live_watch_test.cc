// Trainer and watcher in processes of their own, as they are used.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class LiveWatch : public ::testing::Test {
 protected:
  ~LiveWatch() override { fs::remove_all(directory_); }
  std::vector<std::string> watch(std::vector<std::string> more) const {
    std::vector<std::string> command = {CUPEL_COMMAND, "watch",          run_,
                                        "--json",      "--rule",         "VanishingGradient",
                                        "--rule",      "ExplodingTensor"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  fs::path directory_ = fs::temp_directory_path() / ("cupel-live-" + std::to_string(::getpid()));
  std::string run_ = (directory_ / "run").string();
};

TEST_F(LiveWatch, a_watcher_started_before_the_trainer_speaks_while_it_trains) {
  fs::create_directories(directory_);
  Program watcher(watch({}));
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("hvh");  // steps 0 to 2; beginning step 2 commits step 1
  std::vector<std::string> lines = {watcher.read_line()};
  EXPECT_TRUE(trainer.runs());
  EXPECT_THAT(
      lines[0],
      HasSubstr(
          R"("rule":"VanishingGradient","name":"VanishingGradient","step":1,"mode":"TRAIN")"));
  trainer.write("xhh");
  lines.push_back(watcher.read_line());
  EXPECT_TRUE(trainer.runs());
  EXPECT_THAT(lines[1], HasSubstr(R"("rule":"ExplodingTensor","name":"ExplodingTensor","step":3)"));
  trainer.write("vxv");
  EXPECT_EQ(trainer.end(), 0);
  for (const std::string& line : watcher.rest()) lines.push_back(line);
  EXPECT_EQ(watcher.end(), 1);
  EXPECT_EQ(lines.size(), 2 + 3 + 2);  // two rules close

  // Judged again afterwards, with any number of jobs, the lines are the same.
  for (const char* jobs : {"1", "4"}) {
    Program again(watch({"--jobs", jobs, "--no-wait"}));
    EXPECT_EQ(without_times(again.rest()), without_times(lines)) << jobs << " jobs";
    EXPECT_EQ(again.end(), 1);
  }
}

TEST_F(LiveWatch, the_default_rules_say_the_same_live_and_afterwards) {
  fs::create_directories(directory_);
  const std::vector<std::string> command = {CUPEL_COMMAND, "watch", run_, "--json"};
  Program watcher(command);
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("hvhxh");
  std::vector<std::string> lines = {watcher.read_line()};
  EXPECT_TRUE(trainer.runs());
  trainer.write("vvh");
  EXPECT_EQ(trainer.end(), 0);
  for (const std::string& line : watcher.rest()) lines.push_back(line);
  EXPECT_EQ(watcher.end(), 1);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--jobs", "1"}, {"--rule", "all", "--no-wait"}}) {
    std::vector<std::string> once_more = command;
    once_more.insert(once_more.end(), more.begin(), more.end());
    Program again(once_more);
    EXPECT_EQ(without_times(again.rest()), without_times(lines)) << more.front();
    EXPECT_EQ(again.end(), 1);
  }
}

// The other side of a terminal: what is shown on it.
class Screen {
 public:
  Screen() {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0)
      throw std::runtime_error("no terminal");
    terminal_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  ~Screen() {
    ::close(terminal_);
    ::close(master_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int terminal() const { return terminal_; }
  // What comes until the text is there, or nothing comes for too long.
  std::string read_until(const std::string& text) {
    std::string shown;
    pollfd waiting{master_, POLLIN, 0};
    while (shown.find(text) == std::string::npos && ::poll(&waiting, 1, kPatienceMs) == 1) {
      char c = 0;
      if (::read(master_, &c, 1) != 1) break;
      shown += c;
    }
    return shown;
  }

 private:
  int master_ = -1;
  int terminal_ = -1;
};

TEST_F(LiveWatch, on_a_terminal_a_line_changes_and_is_wiped_away_at_the_end) {
  fs::create_directories(directory_);
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("hhh");
  for (int step = 0; step < 3; ++step) {
    char committed = 0;
    ASSERT_TRUE(trainer.read_char(committed));
  }
  Screen screen;
  Program watcher(
      {"/usr/bin/env", "TERM=xterm", CUPEL_COMMAND, "watch", run_, "--rule", "VanishingGradient"},
      screen.terminal());
  EXPECT_THAT(screen.read_until(" ago\x1b[K"),
              HasSubstr("\rnewest step 1, 2 judged, 0 findings, last step "));
  trainer.write("vh");
  EXPECT_THAT(watcher.read_line(),
              HasSubstr("step 3 TRAIN  VanishingGradient  begins in 3 tensors"));
  EXPECT_THAT(screen.read_until("newest step 3, 4 judged, 3 findings, "), HasSubstr("\r\x1b[K"));
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_THAT(
      watcher.read_line(),
      HasSubstr("step 4 TRAIN  VanishingGradient  is over after 1 step, 3, with 3 findings"));
  watcher.rest();
  EXPECT_EQ(watcher.end(), 1);
  EXPECT_THAT(screen.read_until("\r\x1b[K"), EndsWith("\r\x1b[K"));
}

TEST_F(LiveWatch, an_interrupted_watcher_still_closes_its_rules) {
  fs::create_directories(directory_);
  Program watcher(watch({}));
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("vh");
  EXPECT_THAT(watcher.read_line(), HasSubstr("IssuesFound"));
  watcher.interrupt();
  const auto rest = watcher.rest();
  ASSERT_EQ(rest.size(), 2);
  EXPECT_THAT(rest[1], HasSubstr(R"("status":"Stopped")"));
  EXPECT_THAT(rest[1], HasSubstr(R"("final":true)"));
  EXPECT_EQ(watcher.end(), 130);
}

TEST_F(LiveWatch, ends_when_the_trainer_is_killed_if_it_is_asked_to) {
  fs::create_directories(directory_);
  Program watcher(watch({"--until-writer-gone"}));
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("vh");
  EXPECT_THAT(watcher.read_line(), HasSubstr("IssuesFound"));
  EXPECT_TRUE(trainer.kill());
  const auto rest = watcher.rest();
  ASSERT_EQ(rest.size(), 2);
  EXPECT_THAT(rest[0], HasSubstr(R"("status":"IssuesFound")"));
  EXPECT_THAT(rest[1], HasSubstr(R"("status":"NoIssuesFound")"));
  EXPECT_EQ(watcher.end(), 1);
  Program info({CUPEL_COMMAND, "info", run_, "--json"});
  EXPECT_THAT(info.read_line(), HasSubstr(R"("status":"interrupted")"));
}

TEST_F(LiveWatch, follows_a_trainer_that_was_killed_and_comes_back) {
  fs::create_directories(directory_);
  Program watcher(watch({}));
  {
    Program trainer({CUPEL_STEPPING_TRAINER, run_});
    trainer.write("vh");
    EXPECT_THAT(watcher.read_line(), HasSubstr(R"("step":0)"));
    trainer.kill();
  }
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("hhv");
  EXPECT_EQ(trainer.end(), 0);
  EXPECT_THAT(watcher.rest().at(2), HasSubstr(R"("step":2)")) << "behind two that tell of a rewind";
  EXPECT_EQ(watcher.end(), 1);
}

TEST_F(LiveWatch, a_command_that_is_interrupted_by_a_signal_ends_with_130) {
  for (const bool interrupted : {true, false}) {
    Program demo({CUPEL_COMMAND, "demo", (directory_ / "demo").string()});
    char first = 0;
    ASSERT_TRUE(demo.read_char(first));
    interrupted ? demo.interrupt() : demo.terminate();
    EXPECT_EQ(demo.end(), 130);
  }
}

}  // namespace
}  // namespace cupel
