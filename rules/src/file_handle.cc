#include "file_handle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>

#include "cupel/core/error.h"
#include "cupel/core/new_file.h"

namespace cupel::rules_detail {

FileHandle::FileHandle(const std::string& path, int flags) noexcept
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC)) {}

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileHandle::write(std::string_view text) const noexcept {
  return write_all(descriptor_, std::as_bytes(std::span(text)));
}

void require_regular(const FileHandle& file, const std::string& path) {
  // A socket cannot be opened, nor a FIFO without a reader; ELOOP: a link that is not followed.
  const int error = errno;
  struct ::stat status {};
  const bool is_known =
      file ? ::fstat(file.get(), &status) == 0 : ::lstat(path.c_str(), &status) == 0;
  if (is_known && !S_ISREG(status.st_mode)) throw UsageError("not a regular file: " + path);
  if (!file || !is_known) throw std::system_error(error, std::generic_category(), path);
}

}  // namespace cupel::rules_detail
