// Makes files and folders. Each function is one or a few calls of the system, repeated where a
// signal interrupted them, and reports a failure by -1 or false with errno set; only a lack of
// memory throws. A temporary file gets a name with host, process and a counter, and O_EXCL refuses
// a name that is taken, so that neither a planted link nor the file of a killed process is used.
// Any thread.

#include "cupel/core/new_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <random>
#include <utility>

namespace cupel {
namespace {

constexpr int kMostNames = 100;  // that are tried for a temporary file

mode_t file_mode(FileAccess access) noexcept { return access == FileAccess::Private ? 0600 : 0666; }

int open_again(int directory, const char* name, int flags, mode_t mode) noexcept {
  for (;;) {
    const int file = ::openat(directory, name, flags | O_CLOEXEC, mode);
    if (file >= 0 || errno != EINTR) return file;
  }
}

std::string temporary_name(std::string_view name) {
  static const std::uint32_t host = std::random_device()();
  static std::atomic<std::uint32_t> counter = 0;
  std::array<char, 48> unique{};
  std::snprintf(unique.data(), unique.size(), ".%08x-%x.%x.tmp", host,
                static_cast<unsigned>(::getpid()), counter++);
  return std::string(name) + unique.data();
}

sigset_t file_size_signal() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  return signals;
}

}  // namespace

int create_file(int directory, const char* name, FileAccess access) noexcept {
  return open_again(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK,
                    file_mode(access));
}

int open_or_create_file(int directory, const char* name, int flags, FileAccess access) noexcept {
  return open_again(directory, name, flags | O_CREAT | O_NONBLOCK, file_mode(access));
}

bool make_directory(int directory, const char* name, FileAccess access) noexcept {
  return ::mkdirat(directory, name, access == FileAccess::Private ? 0700 : 0777) == 0;
}

bool make_directories(const std::string& path, FileAccess access,
                      bool (*on_made)(const std::string& path)) {
  if (!make_directory(AT_FDCWD, path.c_str(), access)) {
    if (errno == EEXIST) return true;
    const std::size_t slash = path.find_last_not_of('/') == std::string::npos
                                  ? std::string::npos
                                  : path.rfind('/', path.find_last_not_of('/'));
    if (errno != ENOENT || slash == 0 || slash == std::string::npos) return false;
    if (!make_directories(path.substr(0, slash), access, on_made)) return false;
    if (!make_directory(AT_FDCWD, path.c_str(), access)) return errno == EEXIST;
  }
  return on_made == nullptr || on_made(path);
}

NoFileSizeSignal::NoFileSizeSignal() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  sigset_t pending;
  was_pending_ = ::sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
  const sigset_t signals = file_size_signal();
  is_blocked_ = ::pthread_sigmask(SIG_BLOCK, &signals, &before_) == 0;
}

NoFileSizeSignal::~NoFileSizeSignal() {
  if (!is_blocked_) return;
  const int error = errno;
  if (!was_pending_) {
    const sigset_t signals = file_size_signal();
    const timespec at_once{};
    while (::sigtimedwait(&signals, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

bool write_all(int file, std::span<const std::byte> bytes) noexcept {
  const NoFileSizeSignal no_signal;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

TemporaryFile::TemporaryFile(int directory, std::string_view name, FileAccess access)
    : directory_(directory) {
  for (int tries = 0; tries < kMostNames && !is_there_; ++tries) {
    name_ = temporary_name(name);
    descriptor_ = create_file(directory, name_.c_str(), access);
    is_there_ = descriptor_ >= 0;
    if (!is_there_ && errno != EEXIST) return;
  }
}

TemporaryFile::~TemporaryFile() {
  static_cast<void>(close());
  if (is_there_) ::unlinkat(directory_, name_.c_str(), 0);
}

bool TemporaryFile::close() noexcept {
  // Linux has closed the descriptor even when a signal came in between.
  return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0 || errno == EINTR;
}

bool TemporaryFile::rename_to(const std::string& name) noexcept {
  if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) return false;
  is_there_ = false;
  return true;
}

}  // namespace cupel
