#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace cupel::store_detail {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  explicit operator bool() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }
  /// Closes, and returns whether that succeeded: some file systems report a failed write only here.
  bool close() noexcept;

 private:
  int number_ = -1;
};

/// Repeats a system call while signals interrupt it. errno is that of the call.
template <class Call>
auto uninterrupted(const Call& call) noexcept {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

/// open(2) and openat(2) of what is there, close-on-exec and not waiting for the other end of a
/// pipe; on failure an empty descriptor and errno.
Descriptor open_path(const char* path, int flags) noexcept;
Descriptor open_at(const Descriptor& directory, const char* name, int flags) noexcept;

/// Whether errno means that there is no such object: nothing there, or something that is not
/// followed.
bool means_absent(int error) noexcept;

/// Throws the StoreError for a failed system call on an object of the store in the directory
/// `root`: "cannot <doing>: <what errno means>". A full disk, and a quota or limit that is reached,
/// is StoreFull.
[[noreturn]] void fail(const std::string& root, std::string_view key, std::string_view doing,
                       int error);

}  // namespace cupel::store_detail
