// Trainer and watcher in processes of their own, as they are used.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cupel {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using testing::HasSubstr;

constexpr int kPatienceMs = 30000;

class Process {
 public:
  explicit Process(const std::vector<std::string>& command) {
    std::array<int, 2> in{}, out{};
    if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
      std::vector<char*> arguments;
      for (const std::string& argument : command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }
  ~Process() {
    if (!ended_) ::kill(pid_, SIGKILL);
    end();
    ::close(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void write(const std::string& text) {
    ASSERT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // One line, without its break; "" at the end of the output or when nothing comes for too long.
  std::string read_line() {
    std::string line;
    for (char c = 0; read_char(c) && c != '\n';) line += c;
    return line;
  }
  bool read_char(char& c) {
    pollfd waiting{out_, POLLIN, 0};
    return ::poll(&waiting, 1, kPatienceMs) == 1 && ::read(out_, &c, 1) == 1;
  }
  std::vector<std::string> rest() {
    std::vector<std::string> lines;
    for (std::string line = read_line(); !line.empty(); line = read_line()) lines.push_back(line);
    return lines;
  }
  void interrupt() const { ::kill(pid_, SIGINT); }
  bool runs() const { return ::kill(pid_, 0) == 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0; }
  // Closes its input and waits for it; the exit code, or -1.
  int end() {
    if (!std::exchange(ended_, true)) {
      ::close(in_);
      ::waitpid(pid_, &status_, 0);
    }
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  pid_t pid_;
  int in_ = -1, out_ = -1, status_ = 0;
  bool ended_ = false;
};

std::string without_time(const std::string& line) {
  ordered_json json = ordered_json::parse(line);
  json.erase("time");
  return json.dump();
}

std::vector<std::string> without_times(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) result.push_back(without_time(line));
  return result;
}

class LiveWatch : public testing::Test {
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
  Process watcher(watch({}));
  Process trainer({CUPEL_STEPPING_TRAINER, run_});
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
    Process again(watch({"--jobs", jobs, "--no-wait"}));
    EXPECT_EQ(without_times(again.rest()), without_times(lines)) << jobs << " jobs";
    EXPECT_EQ(again.end(), 1);
  }
}

TEST_F(LiveWatch, an_interrupted_watcher_still_closes_its_rules) {
  fs::create_directories(directory_);
  Process watcher(watch({}));
  Process trainer({CUPEL_STEPPING_TRAINER, run_});
  trainer.write("vh");
  EXPECT_THAT(watcher.read_line(), HasSubstr("IssuesFound"));
  watcher.interrupt();
  const auto rest = watcher.rest();
  ASSERT_EQ(rest.size(), 2);
  EXPECT_THAT(rest[1], HasSubstr(R"("status":"Stopped")"));
  EXPECT_THAT(rest[1], HasSubstr(R"("final":true)"));
}

}  // namespace
}  // namespace cupel
