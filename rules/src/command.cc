// A command in a group of processes of its own.
//
// The child is made by posix_spawn with an input file that has no name, /dev/null as output and
// default signals. The caller's thread polls for its end, asks `go_on` meanwhile, and ends the
// whole group by TERM and then KILL where the time is over. std::system_error where it cannot
// begin.

#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "file_handle.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace cupel::rules_detail {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLongestPause{16};
constexpr milliseconds kUntilKill{200};     // from TERM to KILL
constexpr milliseconds kUntilReaped{1000};  // from KILL to giving up; the kernel may hold it longer

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

void check(int error, const char* what) {
  if (error != 0) fail(error, what);
}

// A file that only its descriptor names.
int nameless_file() { return ::memfd_create("cupel-verdict", MFD_CLOEXEC); }

class FileActions {
 public:
  FileActions() { check(::posix_spawn_file_actions_init(&actions_), "no memory"); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void read_from(int descriptor) {
    check(::posix_spawn_file_actions_adddup2(&actions_, descriptor, STDIN_FILENO), "no memory");
  }
  void open_nothing(int descriptor) {
    check(::posix_spawn_file_actions_addopen(&actions_, descriptor, "/dev/null", O_WRONLY, 0),
          "no memory");
  }
  // Ours are closed by O_CLOEXEC; those that a library or our parent left open are closed here.
  void close_others() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    check(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1), "no memory");
#endif
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class SpawnAttributes {
 public:
  SpawnAttributes() {
    check(::posix_spawnattr_init(&attributes_), "no memory");
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto is_replaced = [&](const auto& added) {
      return text.starts_with(added.first) && text.substr(added.first.size()).starts_with('=');
    };
    if (std::ranges::none_of(command.environment, is_replaced)) entries.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

pid_t begin(const Command& command) {
  const FileHandle input(nameless_file());
  if (!input) fail(errno, "no memory for a command's input");
  if (!input.write(command.input) || ::lseek(input.get(), 0, SEEK_SET) != 0)
    fail(errno, "a command's input cannot be written");
  FileActions files;
  files.read_from(input.get());
  files.open_nothing(STDOUT_FILENO);
  files.open_nothing(STDERR_FILENO);
  files.close_others();
  const SpawnAttributes attributes;
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = environment_of(command);
  pid_t process = 0;
  check(::posix_spawn(&process, arguments.front().c_str(), files.get(), attributes.get(),
                      pointers(arguments).data(), pointers(environment).data()),
        "the shell cannot be run");
  return process;
}

// Nothing while it runs.
std::optional<CommandEnd> end_of(pid_t process) {
  int status = 0;
  const pid_t ended = ::waitpid(process, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
  if (ended < 0) return CommandEnd{CommandEnd::How::Unknown, 0};
  if (WIFSIGNALED(status)) return CommandEnd{CommandEnd::How::Killed, WTERMSIG(status)};
  return CommandEnd{CommandEnd::How::Exited, WEXITSTATUS(status)};
}

// The leader is not waited for before KILL was sent: until then no other group can get the
// number, and what the leader began has its moment too.
void end_group(pid_t process) {
  ::kill(-process, SIGTERM);
  std::this_thread::sleep_for(kUntilKill);
  ::kill(-process, SIGKILL);
  const Clock::time_point until = Clock::now() + kUntilReaped;
  while (!end_of(process) && Clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
}

}  // namespace

CommandEnd run_command(const Command& command, milliseconds timeout, const GoOn& go_on) {
  const pid_t process = begin(command);
  const Clock::time_point until = Clock::now() + timeout;
  for (milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
    if (const std::optional<CommandEnd> end = end_of(process)) return *end;
    const bool goes_on = go_on(pause);
    if (goes_on && Clock::now() < until) continue;
    if (const std::optional<CommandEnd> end = end_of(process)) return *end;
    end_group(process);
    return {goes_on ? CommandEnd::How::TooLong : CommandEnd::How::Stopped, 0};
  }
}

}  // namespace cupel::rules_detail
