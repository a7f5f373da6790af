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

/// What a store knows of one object without reading it.
struct ObjectInfo {
  std::string key;
  std::uint64_t size = 0;
  /// Differs when the object was replaced by other bytes; stays the same while it is only appended
  /// to.
  std::string identity;
};

/// Whether an object must be on the medium when a call returns: its bytes, and its name up to the
/// root of the store. A cached object may still be in the system's memory.
enum class Durability { Cached, Durable };

/// What can be seen of a lock without taking it.
enum class LockState {
  Unseen,  ///< Nothing: the store has no locks, or the lock is another host's.
  Free,    ///< Nobody holds it. Its last holder was a process of this host.
  Held,
};

/// Says when something may have changed below a prefix, so that readers need not poll at full
/// speed.
///
/// One thread at a time. May wake for nothing; never misses a change made after its creation for
/// longer than the time a caller passes to wait(), or, in a store where looking costs money, for
/// longer than the pause between two looks.
class Watch {
 public:
  virtual ~Watch() = default;
  /// Returns at once whether something may have changed since the last call of either function.
  virtual bool changed() = 0;
  /// Waits until something may have changed (true), wake() was called, or the time is over (false).
  virtual bool wait(std::chrono::milliseconds at_most) = 0;
  /// Ends a wait(), the present one or the next; from any thread.
  virtual void wake() = 0;
};

/// Named, immutable-or-growing byte objects: a directory, a bucket's prefix, memory.
///
/// Keys are relative paths of at most 1024 bytes with '/' between parts; a key with empty, "." or
/// ".." parts, a NUL or a backslash is refused (UsageError), so that no key leads out of the store,
/// and so is one that ends in ".tmp". All functions may be called from several threads; calls that
/// write the same key may not run beside each other. Failures are StoreError with the key, and
/// leave what was committed before as it was.
class Store {
 public:
  virtual ~Store() = default;

  /// Where the store is, for messages: a path or a URL.
  virtual std::string location() const = 0;

  /// Makes `bytes` the content of `key`. Atomic: readers see the old content, or all of the new.
  virtual void put(std::string_view key, std::span<const std::byte> bytes,
                   Durability durability = Durability::Durable) = 0;

  /// Whether append() works; where it does not, objects are only put whole.
  virtual bool can_append() const noexcept = 0;

  /// Appends the pieces in order behind the first `expected_size` bytes of `key`, which is created
  /// when that is 0. An object of another length is refused, so that nothing is ever appended
  /// behind a torn write. When it fails midway, the object is cut back to `expected_size`; where
  /// even that fails, the next append is refused. Readers may see a prefix of the pieces before the
  /// call returns.
  virtual void append(std::string_view key, std::uint64_t expected_size,
                      std::span<const std::span<const std::byte>> pieces) = 0;

  /// Makes what was appended to `key`, and its name, durable.
  virtual void sync(std::string_view key) = 0;

  /// The whole object; nothing if there is none. Objects above `at_most` bytes are a StoreError.
  virtual std::optional<std::vector<std::byte>> get(std::string_view key,
                                                    std::uint64_t at_most = 64U << 20U) const = 0;

  /// Reads out.size() bytes from `offset` on; returns how many there were (fewer at the object's
  /// end, 0 behind it). Throws StoreError when the object does not exist.
  virtual std::size_t get_range(std::string_view key, std::uint64_t offset,
                                std::span<std::byte> out) const = 0;

  /// A part of an object that is to be read, and how much of it there was.
  struct Range {
    std::uint64_t offset = 0;
    std::span<std::byte> out = {};
    std::size_t got = 0;
  };
  /// Reads several parts of one object, each as get_range() does. Costs less than as many calls
  /// where a store can help it.
  virtual void get_ranges(std::string_view key, std::span<Range> ranges) const;

  /// Says that a part of an object will be read soon, so that a store can have it ready; nothing
  /// follows from it otherwise, nor from its failing.
  virtual void will_read(std::string_view key, std::uint64_t offset,
                         std::uint64_t size) const noexcept;

  /// Objects whose keys begin with `prefix` and sort after `after`, in byte order of their keys.
  /// Temporary and foreign files are not objects.
  virtual std::vector<ObjectInfo> list(std::string_view prefix,
                                       std::string_view after = {}) const = 0;

  virtual std::optional<ObjectInfo> stat(std::string_view key) const = 0;

  /// Removes the object; removing what is not there is fine.
  virtual void remove(std::string_view key) = 0;

  /// The state of the lock `name` at the root of the store, which the writers of a run hold. Asking
  /// never keeps anybody from taking the lock, and never throws.
  virtual LockState lock_state(std::string_view name) const noexcept;

  /// Begins to watch the objects whose keys begin with `prefix`.
  virtual std::unique_ptr<Watch> watch(std::string_view prefix = {}) const = 0;

  /// Ends calls of other threads that wait for a service far away, with a retryable StoreError, and
  /// has later ones fail likewise: who has to end need not wait for it. Nothing where nobody waits.
  virtual void interrupt() noexcept {}
};

/// Why `text` cannot be a key (see Store), as a phrase; null when it can.
const char* key_defect(std::string_view text) noexcept;

/// Throws UsageError unless `key` is a legal key.
void check_key(std::string_view key);

/// Throws UsageError unless what precedes the last '/' of `prefix` is empty or could be a key's
/// beginning.
void check_prefix(std::string_view prefix);

}  // namespace cupel
