// A rule in Lua beside a trainer, as processes of their own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "program.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

/// Counts the steps that it fired at, in its state.
constexpr const char* kSmall = R"(return cupel.rule {
  name = "SmallGradients",
  params = { threshold = 1e-6 },
  needs = { collections = { "gradients" }, reductions = { "abs_mean" } },
  invoke_at_step = function(self, trial, step)
    for name, worker, mean in trial:each {
      step = step, collection = "gradients", reductions = { "abs_mean" },
    } do
      if mean < self.params.threshold then
        self.times = (self.times or 0) + 1
        self:issue { tensor = name, worker = worker, value = mean, message = "time " .. self.times }
      end
    end
  end,
})";

class LuaWatch : public ::testing::Test {
 protected:
  LuaWatch() {
    fs::create_directories(directory_);
    write(kSmall);
  }
  ~LuaWatch() override { fs::remove_all(directory_); }

  void write(const std::string& text) const { std::ofstream(rule_) << text; }
  std::vector<std::string> watch(std::vector<std::string> more = {}) const {
    std::vector<std::string> command = {CUPEL_COMMAND, "watch",  run_,
                                        "--json",      "--rule", rule_ + ",threshold=1e-5"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  std::vector<std::string> kept() const {
    std::ifstream in(out_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  fs::path directory_ = fs::temp_directory_path() / ("cupel-lua-" + std::to_string(::getpid()));
  std::string run_ = (directory_ / "run").string();
  std::string rule_ = (directory_ / "small.lua").string();
  std::string out_ = (directory_ / "lines.jsonl").string();
};

TEST_F(LuaWatch, a_rule_speaks_while_the_run_grows_and_says_the_same_afterwards) {
  Program watcher(watch());
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("hvh");  // beginning step 2 commits step 1
  std::vector<std::string> lines = {watcher.read_line()};
  EXPECT_TRUE(trainer.runs());
  EXPECT_THAT(lines[0], HasSubstr(R"("rule":"SmallGradients","name":"SmallGradients","step":1)"));
  EXPECT_THAT(lines[0], HasSubstr("time 3"));
  trainer.write("vh");
  lines.push_back(watcher.read_line());
  EXPECT_TRUE(trainer.runs());
  EXPECT_THAT(lines[1], HasSubstr("time 6"));
  EXPECT_EQ(trainer.end(), 0);
  for (const std::string& line : watcher.rest()) lines.push_back(line);
  EXPECT_EQ(watcher.end(), 1);
  EXPECT_EQ(lines.size(), 3U);  // and the closing one
  Program again(watch({"--no-wait"}));
  EXPECT_THAT(without_times(again.rest()), ElementsAreArray(without_times(lines)));
}

TEST_F(LuaWatch, a_mistake_ends_it_before_there_is_a_run) {
  write("return cupel.rule {\n  name = 'x',\n  invok_at_step = 1 }");
  Program watcher(watch());
  EXPECT_THAT(watcher.read_line(),
              HasSubstr("\"line\":3,\"message\":\"rule does not know invok_at_step\""));
  EXPECT_EQ(watcher.end(), 2);
}

TEST_F(LuaWatch, one_that_was_killed_leaves_with_the_next_what_an_undisturbed_one_says) {
  Program trainer({CUPEL_STEPPING_TRAINER, run_});
  {
    Program watcher(watch({"--out", out_}));
    trainer.write("vvh");
    EXPECT_THAT(watcher.read_line(), HasSubstr("time 3"));
    EXPECT_THAT(watcher.read_line(), HasSubstr("time 6"));
    EXPECT_TRUE(watcher.kill());
  }
  trainer.write("vhv");
  EXPECT_EQ(trainer.end(), 0);
  Program next(watch({"--out", out_}));
  next.rest();
  EXPECT_EQ(next.end(), 1);
  Program undisturbed(watch({"--no-wait"}));
  EXPECT_THAT(without_times(kept()), ElementsAreArray(without_times(undisturbed.rest())));

  write(std::string(kSmall) + "\n-- another text");
  Program changed(watch({"--out", out_}));
  EXPECT_EQ(changed.read_line(), "");
  EXPECT_EQ(changed.end(), 2);
}

}  // namespace
}  // namespace cupel
