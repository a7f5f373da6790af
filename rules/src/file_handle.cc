#include "file_handle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

#include "cupel/core/error.h"

namespace cupel {

FileHandle::FileHandle(const std::string& path, int flags) noexcept
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileHandle::write(std::string_view text) const noexcept {
  while (!text.empty()) {
    const ::ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void require_regular(const FileHandle& file, const std::string& path) {
  // A socket cannot be opened, nor a FIFO that nobody reads; ELOOP: a link that is not followed.
  const int error = errno;
  struct ::stat status {};
  const bool is_known =
      file ? ::fstat(file.get(), &status) == 0 : ::lstat(path.c_str(), &status) == 0;
  if (is_known && !S_ISREG(status.st_mode)) throw UsageError("not a regular file: " + path);
  if (!file || !is_known) throw std::system_error(error, std::generic_category(), path);
}

}  // namespace cupel
