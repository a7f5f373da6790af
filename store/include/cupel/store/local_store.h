#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cupel/core/new_file.h"
#include "cupel/store/store.h"

namespace cupel {

namespace store_detail {
class Descriptor;
}

/// How a LocalStore watches for changes: by notifications of the kernel, where there are any, or by
/// comparing listings.
enum class WatchMethod { Notify, Poll };

/// A Store in a directory of the local file system; keys are paths below it.
///
/// put() writes a temporary file beside the target and renames it; append() writes with O_APPEND.
/// The first write creates the directory; a directory that is not there has no objects. A name that
/// ends in ".tmp", and anything but a regular file, is not an object. Symbolic links below the root
/// are never followed; the root itself may be a link. An object that is removed and created again
/// by append() within one tick of the file system's clock (some milliseconds) may keep its
/// identity. Errors carry the absolute path as the store's location.
class LocalStore final : public Store {
 public:
  /// `root` may begin with "~/"; a relative path is below the directory that is current now. Throws
  /// UsageError for a path that is empty or has a NUL.
  explicit LocalStore(std::string root, WatchMethod watch_method = WatchMethod::Notify,
                      FileAccess access = FileAccess::Umask);
  ~LocalStore() override;

  std::string location() const override;
  void put(std::string_view key, std::span<const std::byte> bytes,
           Durability durability = Durability::Durable) override;
  bool can_append() const noexcept override { return true; }
  void append(std::string_view key, std::uint64_t expected_size,
              std::span<const std::span<const std::byte>> pieces) override;
  void sync(std::string_view key) override;
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most = 64U << 20U) const override;
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override;
  void get_ranges(std::string_view key, std::span<Range> ranges) const override;
  void will_read(std::string_view key, std::uint64_t offset,
                 std::uint64_t size) const noexcept override;
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after = {}) const override;
  std::optional<ObjectInfo> stat(std::string_view key) const override;
  void remove(std::string_view key) override;
  LockState lock_state(std::string_view name) const noexcept override;
  std::unique_ptr<Watch> watch(std::string_view prefix = {}) const override;

  /// Makes the directory if it is missing, durably, and keeps it open: when another directory has
  /// its path later, or none, every call that writes is a StoreError. Call it before all other
  /// functions.
  void hold_directory();
  /// Cuts an object back to its first `size` bytes; a shorter object is a StoreError. The object
  /// keeps its identity.
  void cut_back(std::string_view key, std::uint64_t size);
  /// Returns how many bytes this user may still write to the file system of the store.
  std::uint64_t free_bytes() const;

 private:
  void require_held_directory(std::string_view key) const;

  std::string location_;
  std::string root_;  // absolute
  WatchMethod watch_method_;
  FileAccess access_;
  std::unique_ptr<store_detail::Descriptor> held_directory_;
};

/// Holds an exclusive lock on a file of a local directory. The lock ends with the process that
/// holds it. The file names the host that locked it last.
class DirectoryLock {
 public:
  /// Locks `<directory>/<name>`, and creates both, the directory durably. Returns null if another
  /// process or object holds the lock. Throws StoreError when the file cannot be made.
  static std::unique_ptr<DirectoryLock> try_acquire(const std::string& directory,
                                                    std::string_view name,
                                                    FileAccess access = FileAccess::Umask);
  /// Returns the state of the lock `<directory>/<name>` without taking it. A free lock is Unseen
  /// where another host locked it last, or this host before it was booted again.
  static LockState state(const std::string& directory, std::string_view name) noexcept;
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  /// Removes the file, so that an empty directory can be removed. The holder calls it last: from
  /// now on others may lock a new file of that name.
  void remove_file() noexcept;

 private:
  DirectoryLock(int descriptor, std::string path) noexcept
      : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
};

}  // namespace cupel
