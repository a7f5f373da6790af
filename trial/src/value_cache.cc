#include "value_cache.h"

#include "cupel/core/mutex.h"

namespace cupel::trial_detail {
namespace {

// The memory of an entry beside its elements.
constexpr std::uint64_t kBytesOfEntry = 128;
// Statistics, which are small, get this part of the limit of values.
constexpr std::uint64_t kStatisticsPart = 8;

std::uint64_t bytes_of(const TensorValue& value) { return value.bytes().size() + kBytesOfEntry; }
std::uint64_t bytes_of(const Statistics& /*statistics*/) {
  return sizeof(Statistics) + kBytesOfEntry;
}

}  // namespace

template <class T>
std::optional<T> ValueCache::find(const Kept<T>& kept, const Key& key) const {
  const auto found = kept.of.find(key);
  return found == kept.of.end() ? std::nullopt : std::optional<T>(found->second);
}

template <class T>
void ValueCache::put(Kept<T>& kept, const Key& key, const T& what, std::uint64_t most_bytes,
                     std::deque<T>& dropped) {
  const std::uint64_t bytes = bytes_of(what);
  if (bytes > most_bytes || !kept.of.emplace(key, what).second) return;
  kept.in_order.push_back(key);
  kept.bytes += bytes;
  cut(kept, most_bytes, dropped);
}

template <class T>
void ValueCache::cut(Kept<T>& kept, std::uint64_t most_bytes, std::deque<T>& dropped) {
  while (kept.bytes > most_bytes) {
    const auto oldest = kept.of.find(kept.in_order.front());
    kept.bytes -= bytes_of(oldest->second);
    dropped.push_back(std::move(oldest->second));
    kept.of.erase(oldest);
    kept.in_order.pop_front();
  }
}

void ValueCache::keep(std::uint64_t bytes) {
  most_bytes_.store(bytes, std::memory_order_relaxed);
  std::deque<TensorValue> values;
  std::deque<Statistics> statistics;
  const MutexLock lock(mutex_);
  cut(values_, bytes, values);
  cut(statistics_, bytes / kStatisticsPart, statistics);
}

std::optional<TensorValue> ValueCache::value(const Key& key) const {
  if (!is_on()) return std::nullopt;
  const MutexLock lock(mutex_);
  return find(values_, key);
}

bool ValueCache::has_value(const Key& key) const {
  if (!is_on()) return false;
  const MutexLock lock(mutex_);
  return values_.of.contains(key);
}

void ValueCache::put(const Key& key, const TensorValue& value) {
  std::deque<TensorValue> dropped;  // Freed after the lock is released.
  const MutexLock lock(mutex_);
  put(values_, key, value, most_bytes_.load(std::memory_order_relaxed), dropped);
}

std::optional<Statistics> ValueCache::statistics(const Key& key) const {
  if (!is_on()) return std::nullopt;
  const MutexLock lock(mutex_);
  return find(statistics_, key);
}

void ValueCache::put(const Key& key, const Statistics& statistics) {
  std::deque<Statistics> dropped;  // Freed after the lock is released.
  const MutexLock lock(mutex_);
  put(statistics_, key, statistics, most_bytes_.load(std::memory_order_relaxed) / kStatisticsPart,
      dropped);
}

}  // namespace cupel::trial_detail
