#include "descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "cupel/core/error.h"

namespace cupel::store_detail {
namespace {

constexpr int kAlways = O_CLOEXEC | O_NONBLOCK;

/// What may be gone when the same call is made again: exhausted tables, flaky media.
bool may_pass(int error) noexcept {
  switch (error) {
    case EINTR:
    case EAGAIN:
    case EIO:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EBUSY:
    case ESTALE:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace

Descriptor::~Descriptor() { close(); }

bool Descriptor::close() noexcept {
  // Linux has closed the descriptor even when a signal came in between.
  return number_ < 0 || ::close(std::exchange(number_, -1)) == 0 || errno == EINTR;
}

Descriptor open_path(const char* path, int flags) noexcept {
  return Descriptor(uninterrupted([=] { return ::open(path, flags | kAlways); }));
}

Descriptor open_at(const Descriptor& directory, const char* name, int flags) noexcept {
  return Descriptor(
      uninterrupted([&] { return ::openat(directory.get(), name, flags | kAlways); }));
}

bool means_absent(int error) noexcept {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO ||
         error == ENAMETOOLONG;
}

void fail(const std::string& root, std::string_view key, std::string_view doing, int error) {
  const std::string what =
      "cannot " + std::string(doing) + ": " + std::system_category().message(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    throw StoreFull(std::string(key), what, root);
  throw StoreError(std::string(key), may_pass(error), what, root);
}

}  // namespace cupel::store_detail
