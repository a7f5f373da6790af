// A record lock (fcntl) is the kind that a fork does not inherit: flock(2) would be held on by the
// children of a killed process. It belongs to the process, though, and closing any descriptor of
// the file gives it up, so the locks that this process holds are kept in a list that is asked
// before the file is opened.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"
#include "descriptor.h"
#include "directory.h"

namespace cupel {
namespace {

using FileNumber = std::pair<dev_t, ino_t>;

struct Held {
  std::mutex mutex;
  std::set<FileNumber> files;  // guarded by mutex
};

Held& held() {
  static Held& instance = *new Held;  // locks may outlive static objects
  return instance;
}

FileNumber number_of(const struct stat& facts) { return {facts.st_dev, facts.st_ino}; }

}  // namespace

std::unique_ptr<DirectoryLock> DirectoryLock::try_acquire(const std::string& directory,
                                                          std::string_view name) {
  using internal::fail;
  if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos)
    throw UsageError("A lock must have the name of a file: '" + std::string(name) + "'");
  if (!internal::make_directories(directory, internal::Missing::Make))
    fail(directory, name, "make the directory", errno);
  const std::string path = directory + "/" + std::string(name);
  const std::lock_guard guard(held().mutex);
  for (;;) {
    struct stat facts = {};
    if (::stat(path.c_str(), &facts) == 0 && held().files.contains(number_of(facts)))
      return nullptr;
    internal::Descriptor file = internal::open_path(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW);
    if (!file || ::fstat(file.get(), &facts) != 0)
      fail(directory, name, "make the lock file", errno);
    struct flock whole_file = {};
    whole_file.l_type = F_WRLCK;
    whole_file.l_whence = SEEK_SET;
    if (internal::uninterrupted([&] { return ::fcntl(file.get(), F_SETLK, &whole_file); }) != 0) {
      if (errno == EACCES || errno == EAGAIN) return nullptr;
      fail(directory, name, "lock the file", errno);
    }
    // Whoever had the lock may have removed the file between our opening and our locking it.
    struct stat named = {};
    if (::stat(path.c_str(), &named) != 0 || number_of(named) != number_of(facts)) continue;
    held().files.insert(number_of(facts));
    return std::unique_ptr<DirectoryLock>(new DirectoryLock(file.release(), path));
  }
}

void DirectoryLock::remove_file() noexcept { ::unlink(path_.c_str()); }

DirectoryLock::~DirectoryLock() {
  const std::lock_guard guard(held().mutex);
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) == 0) held().files.erase(number_of(facts));
  ::close(descriptor_);
}

}  // namespace cupel
