// A child process whose output is read from a pipe. The thread that owns the object makes all
// calls; it blocks while it waits for output or for the end. A failure of the child is an Error
// that quotes the last line of output. A signal from the terminal reaches the child as well,
// because both are in one process group.

#include "demo_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/rules/action.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace cupel::demo {
namespace {

constexpr std::size_t kKeptOutput = 4096;

// Starts a program with an empty input, and with `output` as its output and standard error.
// Returns 0 or an errno.
int start(std::vector<std::string>& command, int output, pid_t& process) {
  posix_spawn_file_actions_t files;
  if (const int error = ::posix_spawn_file_actions_init(&files); error != 0) return error;
  int error = ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  if (error == 0) error = ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  if (error == 0)
    error = ::posix_spawn(&process, arguments.front(), &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

int end_of(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Returns how a process ended, empty for the exit code 0.
std::string failure(int status) {
  if (WIFSIGNALED(status)) return "was killed by " + signal_name(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0)
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  return {};
}

std::string_view last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of("\r\n") + 1);  // npos + 1 is 0
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command) : program_(command.at(0)) {
  const auto fail = [this](int error) {
    throw Error(program_ + " cannot be started: " + std::strerror(error));
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno);
  const int error = start(command, ends[1], process_);
  ::close(ends[1]);
  output_ = ends[0];
  if (error == 0) return;
  ::close(output_);
  process_ = -1;
  fail(error);
}

ChildProcess::~ChildProcess() {
  if (process_ >= 0) {
    ::kill(process_, SIGTERM);
    end_of(process_);
  }
  ::close(output_);
}

void ChildProcess::wait_for_a_line() {
  while (!has_line_)
    if (!read_output()) finish();
}

void ChildProcess::finish() {
  while (read_output()) {
  }
  if (process_ < 0) return;
  const int status = end_of(std::exchange(process_, -1));
  std::string problem = failure(status);
  if (problem.empty() && !has_line_) problem = "ended without a line of output";
  if (problem.empty()) return;
  const std::string last(last_line(text_));
  throw Error(program_ + ' ' + problem + (last.empty() ? "" : ": " + last));
}

// Returns false at the end of the output.
bool ChildProcess::read_output() {
  std::array<char, 1024> buffer{};
  ssize_t size = 0;
  do {
    size = ::read(output_, buffer.data(), buffer.size());
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return false;
  const std::string_view read(buffer.data(), static_cast<std::size_t>(size));
  has_line_ = has_line_ || read.find('\n') != std::string_view::npos;
  text_ += read;
  if (text_.size() > kKeptOutput) text_.erase(0, text_.size() - kKeptOutput);
  return true;
}

}  // namespace cupel::demo
