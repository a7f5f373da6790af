// MemoryStore: objects in a map under one mutex, for tests and for runs that are not kept.
//
// Every call holds the mutex for its whole time, so any thread may call. Each change counts up and
// wakes all watches; a watch covers the whole store, so it may report a change of another prefix.
// Watches share the state and may outlive the store. An object that is not there, or has another
// length than expected, is a StoreError with the location "memory:"; memory that runs out is
// std::bad_alloc, and the object stays as it was.

#include "cupel/store/memory_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "deadline.h"

namespace cupel {
namespace {

struct Object {
  std::vector<std::byte> bytes;
  std::uint64_t identity = 0;

  ObjectInfo info(std::string_view key) const {
    return {std::string(key), bytes.size(), std::to_string(identity)};
  }
};

constexpr const char* kLocation = "memory:";

StoreError no_such_object(std::string_view key) {
  return {std::string(key), false, "there is no such object", kLocation};
}

}  // namespace

struct MemoryStore::State {
  Mutex mutex;
  ConditionVariable changed;
  std::map<std::string, Object, std::less<>> objects CUPEL_GUARDED_BY(mutex);
  std::uint64_t identities CUPEL_GUARDED_BY(mutex) = 0;
  std::uint64_t changes CUPEL_GUARDED_BY(mutex) = 0;

  Object& object(std::string_view key) CUPEL_REQUIRES(mutex) {
    const auto found = objects.find(key);
    if (found == objects.end()) throw no_such_object(key);
    return found->second;
  }
  Object& fresh(std::string_view key) CUPEL_REQUIRES(mutex) {
    Object& object = objects.insert_or_assign(std::string(key), Object{}).first->second;
    object.identity = ++identities;
    return object;
  }
  void announce() CUPEL_REQUIRES(mutex) {
    ++changes;
    changed.notify_all();
  }
};

namespace {

/// Watches the whole store: it may report changes of keys with another prefix.
template <class State>
class MemoryWatch final : public Watch {
 public:
  explicit MemoryWatch(std::shared_ptr<State> state)
      : state_(std::move(state)), seen_(state_->changes) {}

  bool changed() override {
    const MutexLock lock(state_->mutex);
    return take_changes();
  }

  bool wait(std::chrono::milliseconds at_most) override {
    MutexLock lock(state_->mutex);
    state_->changed.wait_until(
        lock, store_detail::deadline_after(at_most),
        [&]() CUPEL_REQUIRES(state_->mutex) { return woken_ || seen_ != state_->changes; });
    woken_ = false;
    return take_changes();
  }

  void wake() override {
    const MutexLock lock(state_->mutex);
    woken_ = true;
    state_->changed.notify_all();
  }

 private:
  bool take_changes() noexcept CUPEL_REQUIRES(state_->mutex) {
    return std::exchange(seen_, state_->changes) != state_->changes;
  }

  std::shared_ptr<State> state_;
  std::uint64_t seen_ CUPEL_GUARDED_BY(state_->mutex);
  bool woken_ CUPEL_GUARDED_BY(state_->mutex) = false;
};

}  // namespace

MemoryStore::MemoryStore() : state_(std::make_shared<State>()) {}
MemoryStore::~MemoryStore() = default;

void MemoryStore::put(std::string_view key, std::span<const std::byte> bytes,
                      Durability /*durability*/) {
  check_key(key);
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  const MutexLock lock(state_->mutex);
  state_->fresh(key).bytes = std::move(copy);
  state_->announce();
}

void MemoryStore::append(std::string_view key, std::uint64_t expected_size,
                         std::span<const std::span<const std::byte>> pieces) {
  check_key(key);
  const MutexLock lock(state_->mutex);
  const bool is_new = expected_size == 0 && !state_->objects.contains(key);
  Object& object = is_new ? state_->fresh(key) : state_->object(key);
  if (object.bytes.size() != expected_size)
    throw StoreError(std::string(key), false,
                     "it is not as long as expected, nothing was appended: size " +
                         std::to_string(object.bytes.size()) + ", expected " +
                         std::to_string(expected_size),
                     kLocation);
  std::size_t size = object.bytes.size();
  for (const auto& piece : pieces) size += piece.size();
  if (size > object.bytes.capacity()) object.bytes.reserve(std::max(size, 2 * object.bytes.size()));
  for (const auto& piece : pieces)
    object.bytes.insert(object.bytes.end(), piece.begin(), piece.end());
  state_->announce();
}

void MemoryStore::sync(std::string_view key) {
  check_key(key);
  const MutexLock lock(state_->mutex);
  static_cast<void>(state_->object(key));
}

std::optional<std::vector<std::byte>> MemoryStore::get(std::string_view key,
                                                       std::uint64_t at_most) const {
  check_key(key);
  const MutexLock lock(state_->mutex);
  const auto found = state_->objects.find(key);
  if (found == state_->objects.end()) return std::nullopt;
  if (found->second.bytes.size() > at_most)
    throw StoreError(std::string(key), false,
                     "it is larger than may be read at once: size " +
                         std::to_string(found->second.bytes.size()) + ", limit " +
                         std::to_string(at_most),
                     kLocation);
  return found->second.bytes;
}

std::size_t MemoryStore::get_range(std::string_view key, std::uint64_t offset,
                                   std::span<std::byte> out) const {
  check_key(key);
  const MutexLock lock(state_->mutex);
  const auto& bytes = state_->object(key).bytes;
  if (offset >= bytes.size()) return 0;
  const auto rest = std::span(bytes).subspan(static_cast<std::size_t>(offset));
  const auto part = rest.first(std::min(rest.size(), out.size()));
  std::ranges::copy(part, out.begin());
  return part.size();
}

std::vector<ObjectInfo> MemoryStore::list(std::string_view prefix, std::string_view after) const {
  check_prefix(prefix);
  State& state = *state_;
  const MutexLock lock(state.mutex);
  std::vector<ObjectInfo> found;
  auto next = prefix > after ? state.objects.lower_bound(prefix) : state.objects.upper_bound(after);
  for (; next != state.objects.end() && next->first.starts_with(prefix); ++next)
    found.push_back(next->second.info(next->first));
  return found;
}

std::optional<ObjectInfo> MemoryStore::stat(std::string_view key) const {
  check_key(key);
  const MutexLock lock(state_->mutex);
  const auto found = state_->objects.find(key);
  if (found == state_->objects.end()) return std::nullopt;
  return found->second.info(key);
}

void MemoryStore::remove(std::string_view key) {
  check_key(key);
  const MutexLock lock(state_->mutex);
  const auto found = state_->objects.find(key);
  if (found == state_->objects.end()) return;
  state_->objects.erase(found);
  state_->announce();
}

std::unique_ptr<Watch> MemoryStore::watch(std::string_view prefix) const {
  check_prefix(prefix);
  const MutexLock lock(state_->mutex);
  return std::make_unique<MemoryWatch<State>>(state_);
}

}  // namespace cupel
