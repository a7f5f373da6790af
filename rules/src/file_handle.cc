#include "file_handle.h"

#include <fcntl.h>
#include <unistd.h>

#include <span>

#include "cupel/core/new_file.h"

namespace cupel {

FileHandle::FileHandle(const std::string& path, int flags) noexcept
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC)) {}

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileHandle::write(std::string_view text) const noexcept {
  return write_all(descriptor_, std::as_bytes(std::span(text)));
}

}  // namespace cupel
