// LocalStore: objects as files of a directory.
//
// Any thread may call; the state is constant after hold_directory(). put() writes a temporary file
// and renames it, so readers see the old or the new object. append() refuses a file of another
// length, and cuts the file back when a write fails. No link below the root is followed
// (directory.cc). A failed system call is a StoreError with the key and the root as location,
// retryable where the cause may pass, and StoreFull where the disk is full. After a failure of a
// held directory that was moved meanwhile, the error names that cause.

#include "cupel/store/local_store.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/new_file.h"
#include "descriptor.h"
#include "directory.h"
#include "local_watch.h"

namespace cupel {
namespace {

using store_detail::Descriptor;
using store_detail::fail;
using store_detail::Missing;
using store_detail::open_at;
using store_detail::uninterrupted;

constexpr std::size_t kMostAtOnce = 1U << 30U;  // Linux moves less than 2 GiB per call

std::string expanded(std::string root) {
  if (root.empty()) throw UsageError("The directory of a store must have a name");
  if (std::ranges::find(root, '\0') != root.end())
    throw UsageError("The directory of a store must not hold a NUL");
  if (root.starts_with("~/")) {
    const char* const home = std::getenv("HOME");
    if (home == nullptr || *home == '\0')
      throw UsageError("The directory of a store begins with ~ and HOME is not set: " + root);
    root.replace(0, 1, home);
  }
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  return root;
}

/// The rest of the pieces while write calls take parts of them.
class Pieces {
 public:
  explicit Pieces(std::span<const std::span<const std::byte>> pieces) : pieces_(pieces) {
    skip_empty();
  }

  bool empty() const noexcept { return pieces_.empty(); }

  /// Writes as much as one call takes; false and errno when it fails.
  bool write_some(const Descriptor& file) {
    std::array<iovec, IOV_MAX> batch{};
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (; count < std::min(batch.size(), pieces_.size()) && bytes < kMostAtOnce; ++count) {
      const auto piece = count == 0 ? pieces_[0].subspan(offset_) : pieces_[count];
      const std::size_t size = std::min(piece.size(), kMostAtOnce - bytes);
      batch[count] = {const_cast<std::byte*>(piece.data()), size};
      bytes += size;
    }
    const ssize_t written =
        uninterrupted([&] { return ::writev(file.get(), batch.data(), static_cast<int>(count)); });
    if (written > 0) {
      offset_ += static_cast<std::size_t>(written);
      skip_empty();
    } else if (written == 0) {
      errno = EIO;
    }
    return written > 0;
  }

 private:
  /// Moves on to the first piece with bytes left.
  void skip_empty() noexcept {
    while (!pieces_.empty() && offset_ >= pieces_[0].size()) {
      offset_ -= pieces_[0].size();
      pieces_ = pieces_.subspan(1);
    }
  }

  std::span<const std::span<const std::byte>> pieces_;
  std::size_t offset_ = 0;  // into the first piece
};

bool write_pieces(const Descriptor& file, Pieces pieces) {
  const NoFileSizeSignal no_signal;
  while (!pieces.empty())
    if (!pieces.write_some(file)) return false;
  return true;
}

bool flush(int file) noexcept {
  return uninterrupted([&] { return ::fdatasync(file); }) == 0;
}

/// The size of a regular file; nothing, and errno, for anything else.
std::optional<std::uint64_t> file_size(const Descriptor& file) noexcept {
  struct stat facts = {};
  if (::fstat(file.get(), &facts) != 0) return std::nullopt;
  if (S_ISREG(facts.st_mode)) return static_cast<std::uint64_t>(facts.st_size);
  errno = ENOENT;
  return std::nullopt;
}

std::size_t read_at(const Descriptor& file, std::uint64_t offset, std::span<std::byte> out,
                    const std::string& root, std::string_view key) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = uninterrupted([&] {
      return ::pread(file.get(), out.data() + done, std::min(out.size() - done, kMostAtOnce),
                     static_cast<off_t>(offset + done));
    });
    if (got < 0) fail(root, key, "read the file", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

struct OpenFile {
  Descriptor file;
  std::uint64_t size;
};

/// Opens an object to read or write what is there; nothing if there is none.
std::optional<OpenFile> open_object(const std::string& root, std::string_view key, int flags) {
  check_key(key);
  const auto [directory, name] = store_detail::split_key(key);
  if (const Descriptor parent = store_detail::open_directory(root, directory)) {
    if (Descriptor file = open_at(parent, name.c_str(), flags | O_NOFOLLOW))
      if (const auto size = file_size(file)) return OpenFile{std::move(file), *size};
  }
  if (store_detail::means_absent(errno) || errno == EISDIR) return std::nullopt;
  fail(root, key, "open the file", errno);
}

OpenFile require_object(const std::string& root, std::string_view key, int flags) {
  auto object = open_object(root, key, flags);
  if (!object) throw StoreError(std::string(key), false, "there is no such object", root);
  return *std::move(object);
}

}  // namespace

LocalStore::LocalStore(std::string root, WatchMethod watch_method, FileAccess access)
    : location_(expanded(std::move(root))),
      root_(std::filesystem::absolute(location_).string()),
      watch_method_(watch_method),
      access_(access) {}

LocalStore::~LocalStore() = default;

std::string LocalStore::location() const { return location_; }

void LocalStore::put(std::string_view key, std::span<const std::byte> bytes,
                     Durability durability) try {
  check_key(key);
  require_held_directory(key);
  const bool durable = durability == Durability::Durable;
  const auto [directory, name] = store_detail::split_key(key);
  const Descriptor parent = store_detail::open_directory(
      root_, directory, durable ? Missing::MakeDurable : Missing::Make, access_);
  if (!parent) fail(root_, key, "make the directory", errno);
  store_detail::await_later_birth(parent, name.c_str());
  TemporaryFile temporary(parent.get(), name, access_);
  if (temporary.descriptor() < 0) fail(root_, key, "make a temporary file", errno);
  if (!write_all(temporary.descriptor(), bytes)) fail(root_, key, "write the file", errno);
  if (durable && !flush(temporary.descriptor())) fail(root_, key, "flush the file", errno);
  if (!temporary.close()) fail(root_, key, "write the file", errno);
  if (!temporary.rename_to(name)) fail(root_, key, "rename the file", errno);
  // Also directories that an earlier append() has made, whose names are not durable yet.
  if (durable && !store_detail::sync_directories(root_, directory))
    fail(root_, key, "flush the directory", errno);
} catch (const StoreError&) {
  require_held_directory(key);  // the cause, where it was moved meanwhile
  throw;
}

void LocalStore::append(std::string_view key, std::uint64_t expected_size,
                        std::span<const std::span<const std::byte>> pieces) try {
  check_key(key);
  require_held_directory(key);
  if (expected_size == 0) {
    const auto [directory, name] = store_detail::split_key(key);
    const Descriptor parent =
        store_detail::open_directory(root_, directory, Missing::Make, access_);
    if (!parent) fail(root_, key, "make the directory", errno);
    // What has the name already is opened below.
    if (!Descriptor(create_file(parent.get(), name.c_str(), access_)) && errno != EEXIST)
      fail(root_, key, "make the file", errno);
  }
  const auto [file, size] = require_object(root_, key, O_WRONLY | O_APPEND);
  if (size != expected_size)
    throw StoreError(std::string(key), false,
                     "it is not as long as expected, nothing was appended: size " +
                         std::to_string(size) + ", expected " + std::to_string(expected_size),
                     root_);
  if (write_pieces(file, Pieces(pieces))) return;
  const int error = errno;
  const int cut = uninterrupted([&file = file, expected_size] {
    return ::ftruncate(file.get(), static_cast<off_t>(expected_size));
  });
  fail(root_, key, cut == 0 ? "append" : "append, nor cut back what was appended", error);
} catch (const StoreError&) {
  require_held_directory(key);  // the cause, where it was moved meanwhile
  throw;
}

void LocalStore::sync(std::string_view key) try {
  require_held_directory(key);
  const auto object = require_object(root_, key, O_RDONLY);
  if (!flush(object.file.get())) fail(root_, key, "flush the file", errno);
  if (!store_detail::sync_directories(root_, store_detail::split_key(key).directory))
    fail(root_, key, "flush the directory", errno);
} catch (const StoreError&) {
  require_held_directory(key);  // the cause, where it was moved meanwhile
  throw;
}

std::optional<std::vector<std::byte>> LocalStore::get(std::string_view key,
                                                      std::uint64_t at_most) const {
  const auto object = open_object(root_, key, O_RDONLY);
  if (!object) return std::nullopt;
  if (object->size > at_most)
    throw StoreError(std::string(key), false,
                     "it is larger than may be read at once: size " + std::to_string(object->size) +
                         ", limit " + std::to_string(at_most),
                     root_);
  std::vector<std::byte> bytes(static_cast<std::size_t>(object->size));
  bytes.resize(read_at(object->file, 0, bytes, root_, key));
  return bytes;
}

std::size_t LocalStore::get_range(std::string_view key, std::uint64_t offset,
                                  std::span<std::byte> out) const {
  const auto [file, size] = require_object(root_, key, O_RDONLY);
  return offset < size ? read_at(file, offset, out, root_, key) : 0;
}

void LocalStore::get_ranges(std::string_view key, std::span<Range> ranges) const {
  const auto [file, size] = require_object(root_, key, O_RDONLY);
  for (Range& range : ranges)
    range.got = range.offset < size ? read_at(file, range.offset, range.out, root_, key) : 0;
}

void LocalStore::will_read(std::string_view key, std::uint64_t offset,
                           std::uint64_t size) const noexcept {
  // The system takes up no more at once than it would read ahead by itself.
  constexpr std::uint64_t kAtOnce = std::uint64_t{128} << 10U;
  try {
    const auto object = open_object(root_, key, O_RDONLY);
    if (!object) return;
    const std::uint64_t end = std::min(object->size, offset + std::min(size, object->size));
    for (std::uint64_t at = offset; at < end; at += kAtOnce)
      ::posix_fadvise(object->file.get(), static_cast<off_t>(at),
                      static_cast<off_t>(std::min(kAtOnce, end - at)), POSIX_FADV_WILLNEED);
  } catch (const std::exception&) {  // the read will report it
  }
}

std::vector<ObjectInfo> LocalStore::list(std::string_view prefix, std::string_view after) const {
  check_prefix(prefix);
  return store_detail::list_objects(root_, prefix, after);
}

std::optional<ObjectInfo> LocalStore::stat(std::string_view key) const {
  check_key(key);
  const auto [directory, name] = store_detail::split_key(key);
  if (const Descriptor parent = store_detail::open_directory(root_, directory))
    if (auto info = store_detail::look_at(parent, name.c_str(), key)) return info;
  if (store_detail::means_absent(errno)) return std::nullopt;
  fail(root_, key, "examine the file", errno);
}

void LocalStore::remove(std::string_view key) try {
  check_key(key);
  require_held_directory(key);
  const auto [directory, name] = store_detail::split_key(key);
  if (const Descriptor parent = store_detail::open_directory(root_, directory))
    if (::unlinkat(parent.get(), name.c_str(), 0) == 0) return;
  if (!store_detail::means_absent(errno) && errno != EISDIR)
    fail(root_, key, "remove the file", errno);
} catch (const StoreError&) {
  require_held_directory(key);  // the cause, where it was moved meanwhile
  throw;
}

void LocalStore::hold_directory() {
  if (!make_directories(root_, access_, store_detail::sync_above))
    fail(root_, "", "make the directory", errno);
  Descriptor directory = store_detail::open_path(root_.c_str(), O_PATH | O_DIRECTORY);
  if (!directory) fail(root_, "", "open the directory", errno);
  held_directory_ = std::make_unique<Descriptor>(std::move(directory));
}

// While the descriptor is open, no other directory gets the same inode number.
void LocalStore::require_held_directory(std::string_view key) const {
  if (held_directory_ == nullptr) return;
  struct stat held = {}, there = {};
  if (::fstat(held_directory_->get(), &held) != 0) fail(root_, key, "examine the directory", errno);
  if (::stat(root_.c_str(), &there) == 0 && there.st_dev == held.st_dev &&
      there.st_ino == held.st_ino)
    return;
  throw StoreError(
      std::string(key), false,
      "the directory was removed or moved while it was written, and nothing is written "
      "into another one in its place",
      root_);
}

void LocalStore::cut_back(std::string_view key, std::uint64_t size) try {
  require_held_directory(key);
  const auto object = require_object(root_, key, O_WRONLY);
  if (object.size < size)
    throw StoreError(std::string(key), false,
                     "it is shorter than it is to be: size " + std::to_string(object.size) +
                         ", wanted " + std::to_string(size),
                     root_);
  const auto cut = [&] { return ::ftruncate(object.file.get(), static_cast<off_t>(size)); };
  if (uninterrupted(cut) != 0) fail(root_, key, "cut the file back", errno);
} catch (const StoreError&) {
  require_held_directory(key);  // the cause, where it was moved meanwhile
  throw;
}

std::uint64_t LocalStore::free_bytes() const {
  struct statvfs facts = {};
  std::filesystem::path place = root_;
  while (::statvfs(place.c_str(), &facts) != 0) {
    if (!store_detail::means_absent(errno) || !place.has_relative_path())
      fail(root_, "", "examine the file system", errno);
    place = place.parent_path();
  }
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

LockState LocalStore::lock_state(std::string_view name) const noexcept {
  return DirectoryLock::state(root_, name);
}

std::unique_ptr<Watch> LocalStore::watch(std::string_view prefix) const {
  check_prefix(prefix);
  return store_detail::watch_directory(root_, prefix, watch_method_);
}

}  // namespace cupel
