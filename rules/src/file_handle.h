#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// Owns a file descriptor.
class FileHandle {
 public:
  /// Takes it over; -1: none.
  explicit FileHandle(int descriptor) noexcept : descriptor_(descriptor) {}
  /// Opens a file that is there, for this process only; none, and errno set, where that fails.
  FileHandle(const std::string& path, int flags) noexcept;
  ~FileHandle();
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;

  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  int get() const noexcept { return descriptor_; }

  /// Writes all of it; false, and errno set, where that fails.
  bool write(std::string_view text) const noexcept;

 private:
  const int descriptor_;
};

}  // namespace cupel
