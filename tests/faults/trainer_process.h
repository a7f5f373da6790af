#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace cupel::testing {

/// A fault_trainer (trainer.cc says how it is called), and what it tells.
class TrainerProcess {
 public:
  TrainerProcess(const std::string& directory, const std::string& what,
                 const std::string& where = "stack", const std::string& argument = "") {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::runtime_error("pipe");
    const std::string descriptor = std::to_string(pipe[1]);
    process_ = ::fork();
    if (process_ == 0) {
      ::close(pipe[0]);
      ::execl(CUPEL_FAULT_TRAINER, CUPEL_FAULT_TRAINER, directory.c_str(), what.c_str(),
              where.c_str(), descriptor.c_str(), argument.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(pipe[1]);
    told_ = pipe[0];
  }
  ~TrainerProcess() {
    if (!ended_) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, &status_, 0);
    }
    ::close(told_);
  }
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  /// Waits until it has told that; false if it ended, or did nothing for a long time.
  bool await(const std::string& line) {
    while (text_.find(line + '\n') == std::string::npos)
      if (!read_more()) return false;
    return true;
  }
  void terminate() const { ::kill(process_, SIGTERM); }
  /// Waits for its end: its exit code, minus the signal that ended it, or 1000 if it does not end.
  int end() {
    while (read_more()) {
    }
    if (!closed_) return 1000;
    ::waitpid(process_, &status_, 0);
    ended_ = true;
    return WIFSIGNALED(status_) ? -WTERMSIG(status_) : WEXITSTATUS(status_);
  }

  /// The last step that it told to be acknowledged.
  std::int64_t acknowledged() const {
    const std::size_t at = text_.rfind("ack ");
    return at == std::string::npos ? -1 : std::stoll(text_.substr(at + 4));
  }
  struct Report {
    int disabled = -1, problems = -1, errors = -1, last = -1;
  };
  Report report() const {
    Report report;
    const std::size_t at = text_.find("report ");
    if (at != std::string::npos)
      std::sscanf(text_.c_str() + at, "report %d %d %d %d", &report.disabled, &report.problems,
                  &report.errors, &report.last);
    return report;
  }

 private:
  bool read_more() {
    pollfd source{told_, POLLIN, 0};
    if (closed_ || ::poll(&source, 1, 60'000) != 1) return false;
    std::array<char, 256> part{};
    const ssize_t got = ::read(told_, part.data(), part.size());
    if (got > 0) text_.append(part.data(), static_cast<std::size_t>(got));
    closed_ = got <= 0;
    return !closed_;
  }

  pid_t process_;
  int told_;
  int status_ = 0;
  bool closed_ = false, ended_ = false;
  std::string text_;
};

}  // namespace cupel::testing
