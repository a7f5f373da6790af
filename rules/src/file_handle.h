#pragma once

#include <string>
#include <string_view>

namespace cupel::rules_detail {

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

/// Requires that a file was opened and is a regular one. Throws std::system_error by errno where it
/// was not opened, and UsageError for anything else than a regular file.
void require_regular(const FileHandle& file, const std::string& path);

}  // namespace cupel::rules_detail
