#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cupel {

inline constexpr int kPatienceMs = 30000;

/// A program that runs beside the test, which writes to it and reads what it prints.
class Program {
 public:
  /// `error`: a descriptor that becomes its standard error; by default it is the test's.
  explicit Program(const std::vector<std::string>& command, int error = 2) {
    std::array<int, 2> in{}, out{};
    // Nobody else may hold their ends: the program's input must end when it is closed here.
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::dup2(error, 2);
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
  ~Program() {
    if (!ended_) ::kill(pid_, SIGKILL);
    end();
    ::close(out_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void write(const std::string& text) {
    ASSERT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// One line, without its break; "" at the end of the output or when nothing comes for too long.
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
  void terminate() const { ::kill(pid_, SIGTERM); }
  /// False: it had ended by itself.
  bool kill() {
    ::kill(pid_, SIGKILL);
    end();
    return WIFSIGNALED(status_);
  }
  bool runs() const { return ::kill(pid_, 0) == 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0; }
  /// Closes its input and waits for it; the exit code, or -1.
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

/// A line as it is but for its time.
inline std::string without_time(const std::string& line) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(line);
  json.erase("time");
  return json.dump();
}

inline std::vector<std::string> without_times(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) result.push_back(without_time(line));
  return result;
}

}  // namespace cupel
