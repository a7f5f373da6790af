// Runs the command that a profile names as credential_process, and reads its output, a JSON object.
//
// The runtime calls ask_process() on the thread that asks for credentials. The command has a
// minute, 64 KiB of output, no standard input, and a process group of its own, which is killed
// afterwards. A command that fails, takes longer, or prints anything else gives no credentials, and
// the chain in crt_credentials.cc asks the next provider. What it prints is secret and is in no
// message.

#include "crt_credential_process.h"

#include <aws/common/date_time.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>

#include "crt_profile.h"

extern "C" {
#include <aws/common/json.h>  // declares its functions without extern "C"

extern char** environ;
}

namespace cupel::s3_detail {
namespace {

constexpr std::chrono::seconds kLongest{60};
constexpr std::size_t kMostOutput = std::size_t{64} << 10U;

/// A shell that runs a command in a process group of its own; the destructor kills the group.
class Command {
 public:
  explicit Command(const std::string& text) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    output_ = ends[0];
    spawn(text, ends[1]);
    ::close(ends[1]);
  }
  ~Command() {
    if (process_ > 0) {
      ::kill(-process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    if (output_ >= 0) ::close(output_);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Returns the output of the command, if it ended with status 0 and in time.
  std::optional<std::string> result() {
    std::string text;
    if (process_ <= 0 || !read_all(text)) return std::nullopt;
    int status = 0;
    const pid_t ended = ::waitpid(process_, &status, 0);
    if (ended == process_) process_ = 0;
    const bool fine = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return fine ? std::optional(std::move(text)) : std::nullopt;
  }

 private:
  void spawn(const std::string& text, int writing_end) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, writing_end, 1);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const std::array<const char*, 4> arguments = {"sh", "-c", text.c_str(), nullptr};
    if (::posix_spawn(&process_, "/bin/sh", &actions, &attributes,
                      const_cast<char* const*>(arguments.data()), environ) != 0)
      process_ = 0;
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }

  bool read_all(std::string& text) const {
    const auto deadline = std::chrono::steady_clock::now() + kLongest;
    std::array<char, 4096> some{};
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd waiting{output_, POLLIN, 0};
      if (left.count() <= 0) return false;
      if (::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
      const ssize_t got = ::read(output_, some.data(), some.size());
      if (got == 0) return true;
      if (got < 0 || text.size() + static_cast<std::size_t>(got) > kMostOutput) return false;
      text.append(some.data(), static_cast<std::size_t>(got));
    }
  }

  pid_t process_ = 0;
  int output_ = -1;
};

using Json = Handle<aws_json_value, aws_json_value_destroy>;

std::string member(const Json& object, std::string_view name) {
  aws_byte_cursor text{};
  const aws_json_value* const value = aws_json_value_get_from_object(object.get(), cursor(name));
  if (value == nullptr || aws_json_value_get_string(value, &text) != AWS_OP_SUCCESS) return {};
  return std::string(view(text));
}

/// Returns seconds since 1970: the latest possible for an empty text, nothing for an illegal one.
std::optional<std::uint64_t> expiration(const std::string& text) {
  if (text.empty()) return UINT64_MAX;
  aws_date_time time{};
  const aws_byte_cursor bytes = cursor(text);
  if (aws_date_time_init_from_str_cursor(&time, &bytes, AWS_DATE_FORMAT_ISO_8601) != AWS_OP_SUCCESS)
    return std::nullopt;
  return static_cast<std::uint64_t>(aws_date_time_as_epoch_secs(&time));
}

/// Returns null for a text that is not the output of such a command.
aws_credentials* read_credentials(const std::string& output) {
  const Json object(aws_json_value_new_from_string(aws_default_allocator(), cursor(output)));
  if (!object || !aws_json_value_is_object(object.get())) return nullptr;
  const std::string key = member(object, "AccessKeyId");
  const std::string secret = member(object, "SecretAccessKey");
  const std::string token = member(object, "SessionToken");
  const auto until = expiration(member(object, "Expiration"));
  if (key.empty() || secret.empty() || !until) return nullptr;
  return aws_credentials_new(aws_default_allocator(), cursor(key), cursor(secret), cursor(token),
                             *until);
}

extern "C" {

static int ask_process(void* command, aws_on_get_credentials_callback_fn callback,
                       void* user_data) {
  aws_credentials* credentials = nullptr;
  try {
    const auto output = Command(*static_cast<const std::string*>(command)).result();
    if (output) credentials = read_credentials(*output);
  } catch (const std::exception&) {  // no exception passes through the library
  }
  const int error =
      credentials == nullptr ? AWS_AUTH_CREDENTIALS_PROVIDER_PROCESS_SOURCE_FAILURE : 0;
  callback(credentials, error, user_data);
  aws_credentials_release(credentials);
  return AWS_OP_SUCCESS;
}

static void free_command(void* command) { delete static_cast<std::string*>(command); }

}  // extern "C"

}  // namespace

CredentialsProvider process_provider(const std::string& profile) {
  auto command = read_profile(profile, "credential_process", false);
  if (!command || command->empty()) return nullptr;
  auto owned = std::make_unique<std::string>(*std::move(command));
  aws_credentials_provider_delegate_options options{};
  options.get_credentials = ask_process;
  options.delegate_user_data = owned.get();
  options.shutdown_options = {free_command, owned.get()};
  CredentialsProvider provider(
      aws_credentials_provider_new_delegate(aws_default_allocator(), &options));
  if (provider) static_cast<void>(owned.release());
  return provider;
}

}  // namespace cupel::s3_detail
