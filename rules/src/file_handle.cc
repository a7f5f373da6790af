#include "file_handle.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

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

}  // namespace cupel
