// DirectoryLock is a record lock (fcntl), which a fork does not inherit: children of a killed
// process would keep a lock of flock(2). A record lock belongs to the process, and closing any
// descriptor of the file releases it, so a list has the locks of this process and is searched
// before the file is opened.
//
// state() uses F_GETLK, which takes no lock, so a writer that begins at that moment is not refused.
// A free lock means that its holder is dead only where the holder's lock could be seen, so the file
// has the id of the boot of the host that locked it: containers of one kernel share it, and their
// locks. Any thread may call; one mutex guards the list. A file that cannot be made or locked is a
// StoreError.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/core/new_file.h"
#include "cupel/store/local_store.h"
#include "descriptor.h"
#include "directory.h"

namespace cupel {
namespace {

using FileNumber = std::pair<dev_t, ino_t>;

struct Held {
  Mutex mutex;
  std::set<FileNumber> files CUPEL_GUARDED_BY(mutex);
};

Held& held() {
  static Held& instance = *new Held;  // locks may outlive static objects
  return instance;
}

using HostName = std::array<char, 65>;  // as utsname has it

std::string_view read_text(int file, HostName& text) noexcept {
  const ssize_t size =
      store_detail::uninterrupted([&] { return ::pread(file, text.data(), text.size(), 0); });
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// Returns the id of this boot of the machine, else its name.
std::string_view this_host(HostName& name) noexcept {
  if (const auto boot = store_detail::open_path("/proc/sys/kernel/random/boot_id", O_RDONLY))
    if (const std::string_view text = read_text(boot.get(), name); !text.empty()) return text;
  struct utsname facts = {};
  ::uname(&facts);
  const std::string_view text(facts.nodename);
  std::ranges::copy(text, name.begin());
  return {name.data(), text.size()};
}

FileNumber number_of(const struct stat& facts) { return {facts.st_dev, facts.st_ino}; }

}  // namespace

std::unique_ptr<DirectoryLock> DirectoryLock::try_acquire(const std::string& directory,
                                                          std::string_view name,
                                                          FileAccess access) {
  using store_detail::fail;
  if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos)
    throw UsageError("A lock must have the name of a file: '" + std::string(name) + "'");
  if (!make_directories(directory, access, store_detail::sync_above))
    fail(directory, name, "make the directory", errno);
  const std::string path = directory + "/" + std::string(name);
  const MutexLock guard(held().mutex);
  for (;;) {
    struct stat facts = {};
    if (::stat(path.c_str(), &facts) == 0 && held().files.contains(number_of(facts)))
      return nullptr;
    store_detail::Descriptor file(
        open_or_create_file(AT_FDCWD, path.c_str(), O_RDWR | O_NOFOLLOW, access));
    if (!file || ::fstat(file.get(), &facts) != 0)
      fail(directory, name, "make the lock file", errno);
    struct flock whole_file = {};
    whole_file.l_type = F_WRLCK;
    whole_file.l_whence = SEEK_SET;
    if (store_detail::uninterrupted([&] { return ::fcntl(file.get(), F_SETLK, &whole_file); }) !=
        0) {
      if (errno == EACCES || errno == EAGAIN) return nullptr;
      fail(directory, name, "lock the file", errno);
    }
    // Another process may have removed the file after it was opened here and before it was locked.
    struct stat named = {};
    if (::stat(path.c_str(), &named) != 0 || number_of(named) != number_of(facts)) continue;
    held().files.insert(number_of(facts));
    // Where this fails, the lock is Unseen for others while it is free.
    const NoFileSizeSignal no_signal;
    HostName here;
    const std::string_view host = this_host(here);
    if (::pwrite(file.get(), host.data(), host.size(), 0) < 0 ||
        ::ftruncate(file.get(), static_cast<off_t>(host.size())) != 0)
      errno = 0;
    return std::unique_ptr<DirectoryLock>(new DirectoryLock(file.release(), path));
  }
}

LockState DirectoryLock::state(const std::string& directory, std::string_view name) noexcept {
  try {
    const std::string path = directory + "/" + std::string(name);
    const MutexLock guard(held().mutex);
    // Closing an O_PATH descriptor releases no lock. The path in /proc leads to the same file.
    const store_detail::Descriptor place =
        store_detail::open_path(path.c_str(), O_PATH | O_NOFOLLOW);
    struct stat facts = {};
    if (!place || ::fstat(place.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
      return LockState::Unseen;
    if (held().files.contains(number_of(facts))) return LockState::Held;
    const std::string same = "/proc/self/fd/" + std::to_string(place.get());
    const store_detail::Descriptor file = store_detail::open_path(same.c_str(), O_RDONLY);
    if (!file) return LockState::Unseen;
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(file.get(), F_GETLK, &lock) != 0) return LockState::Unseen;
    if (lock.l_type != F_UNLCK) return LockState::Held;
    HostName there, here;
    return read_text(file.get(), there) == this_host(here) ? LockState::Free : LockState::Unseen;
  } catch (const std::exception&) {  // there is no memory for a path
    return LockState::Unseen;
  }
}

void DirectoryLock::remove_file() noexcept { ::unlink(path_.c_str()); }

DirectoryLock::~DirectoryLock() {
  const MutexLock guard(held().mutex);
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) == 0) held().files.erase(number_of(facts));
  ::close(descriptor_);
}

}  // namespace cupel
