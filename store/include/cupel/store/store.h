#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// The facts about one object that a store knows without reading it.
struct ObjectInfo {
  std::string key;
  std::uint64_t size = 0;
  /// A text that changes when the object is replaced by other bytes, and not when it is appended
  /// to.
  std::string identity;
};

/// Whether an object must be on the medium when a call returns: its bytes, and its name up to the
/// root of the store. A cached object may still be in the system's memory.
enum class Durability { Cached, Durable };

/// The state of a lock, as it can be seen without taking the lock.
enum class LockState {
  Unseen,  ///< Not known: the store has no locks, or the lock is another host's.
  Free,    ///< No process holds the lock. Its last holder was a process of this host.
  Held,    ///< A process of this host holds the lock.
};

/// Reports when something may have changed below a prefix, so that readers need not poll at full
/// speed.
///
/// One thread at a time uses a watch. A watch may report a change where there is none. It reports
/// each change after its creation within the time that a caller passes to wait(), or, in a store
/// where requests cost money, within the pause between two of its requests.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  virtual ~Watch() = default;
  /// Returns at once whether something may have changed since the previous call of changed() or
  /// wait().
  virtual bool changed() = 0;
  /// Waits until something may have changed (true), or until wake() is called or the time is over
  /// (false).
  virtual bool wait(std::chrono::milliseconds at_most) = 0;
  /// Ends the present wait(), or the next one. Any thread may call it.
  virtual void wake() = 0;
};

/// A store of named byte objects, each immutable or growing: a directory, a prefix of a bucket,
/// memory.
///
/// Keys are relative paths of at most 1024 bytes with '/' between parts; a key with empty, "." or
/// ".." parts, a NUL or a backslash is refused (UsageError), so that no key leads out of the store,
/// and so is a key that ends in ".tmp". Several threads may call all functions; two calls that
/// write the same key may not run at the same time. A failure is a StoreError with the key and the
/// store's location, and objects that were committed before stay as they are.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// The location of the store, a path or a URL. Errors of the store carry it.
  virtual std::string location() const = 0;

  /// Makes `bytes` the content of `key`. Atomic: readers see the old content or the whole new one.
  virtual void put(std::string_view key, std::span<const std::byte> bytes,
                   Durability durability = Durability::Durable) = 0;

  /// Whether append() works. Where it does not, put() writes whole objects only.
  virtual bool can_append() const noexcept = 0;

  /// Appends the pieces in order behind the first `expected_size` bytes of `key`, and creates the
  /// object when that is 0. An object of another length is a StoreError, so that nothing is
  /// appended behind a torn write. When a write fails midway, the object is cut back to
  /// `expected_size`; if that fails too, the next append is a StoreError. Readers may see a prefix
  /// of the pieces before the call returns.
  virtual void append(std::string_view key, std::uint64_t expected_size,
                      std::span<const std::span<const std::byte>> pieces) = 0;

  /// Makes what was appended to `key`, and its name, durable.
  virtual void sync(std::string_view key) = 0;

  /// Returns the whole object; nothing if there is none. An object above `at_most` bytes is a
  /// StoreError.
  virtual std::optional<std::vector<std::byte>> get(std::string_view key,
                                                    std::uint64_t at_most = 64U << 20U) const = 0;

  /// Reads out.size() bytes from `offset` on, and returns the number of bytes read: fewer at the
  /// object's end, 0 behind it. Throws StoreError when the object does not exist.
  virtual std::size_t get_range(std::string_view key, std::uint64_t offset,
                                std::span<std::byte> out) const = 0;

  /// A part of an object to read, and the number of bytes that were read.
  struct Range {
    std::uint64_t offset = 0;
    std::span<std::byte> out = {};
    std::size_t got = 0;
  };
  /// Reads several parts of one object, each as get_range() does. Some stores need fewer requests
  /// for it than for as many calls of get_range().
  virtual void get_ranges(std::string_view key, std::span<Range> ranges) const;

  /// Announces that a part of an object will be read soon, so that the store can load it ahead. A
  /// failure has no effect.
  virtual void will_read(std::string_view key, std::uint64_t offset,
                         std::uint64_t size) const noexcept;

  /// Lists the objects whose keys begin with `prefix` and sort after `after`, in byte order of
  /// their keys. Temporary and foreign files are not objects.
  virtual std::vector<ObjectInfo> list(std::string_view prefix,
                                       std::string_view after = {}) const = 0;

  /// Returns the facts about an object; nothing if there is none.
  virtual std::optional<ObjectInfo> stat(std::string_view key) const = 0;

  /// Removes the object, if there is one.
  virtual void remove(std::string_view key) = 0;

  /// Returns the state of the lock `name` at the root of the store, which the writers of a run
  /// hold. The call does not keep other processes from taking the lock.
  virtual LockState lock_state(std::string_view name) const noexcept;

  /// Begins to watch the objects whose keys begin with `prefix`.
  virtual std::unique_ptr<Watch> watch(std::string_view prefix = {}) const = 0;

  /// Ends the requests of other threads to a remote service with a retryable StoreError, and lets
  /// all later requests fail in the same way, so that a program that exits need not wait. A store
  /// without a remote service does nothing.
  virtual void interrupt() noexcept {}
};

/// Returns the reason why `text` cannot be a key (see Store), as a phrase; null when it can.
const char* key_defect(std::string_view text) noexcept;

/// Throws UsageError unless `key` is a legal key.
void check_key(std::string_view key);

/// Throws UsageError unless the text before the last '/' of `prefix` is empty or could begin a key.
void check_prefix(std::string_view prefix);

}  // namespace cupel
