#include "value_cache.h"

namespace cupel::trial_detail {
namespace {

// Beside its elements.
constexpr std::uint64_t kBytesOfEntry = 128;
// Of what values may take, for statistics, which are small.
constexpr std::uint64_t kStatisticsPart = 8;

std::uint64_t bytes_of(const TensorValue& value) { return value.bytes().size() + kBytesOfEntry; }
std::uint64_t bytes_of(const Statistics& /*statistics*/) {
  return sizeof(Statistics) + kBytesOfEntry;
}

}  // namespace

template <class T>
std::optional<T> ValueCache::find(const Kept<T>& kept, const Key& key) const {
  if (!is_on()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = kept.of.find(key);
  return found == kept.of.end() ? std::nullopt : std::optional<T>(found->second);
}

template <class T>
void ValueCache::put(Kept<T>& kept, const Key& key, const T& what, std::uint64_t most_bytes) {
  const std::uint64_t bytes = bytes_of(what);
  if (bytes > most_bytes) return;
  // What is let go is freed without the lock.
  std::deque<T> let_go;
  const std::lock_guard lock(mutex_);
  if (!kept.of.emplace(key, what).second) return;
  kept.in_order.push_back(key);
  kept.bytes += bytes;
  cut(kept, most_bytes, let_go);
}

template <class T>
void ValueCache::cut(Kept<T>& kept, std::uint64_t most_bytes, std::deque<T>& let_go) {
  while (kept.bytes > most_bytes) {
    const auto oldest = kept.of.find(kept.in_order.front());
    kept.bytes -= bytes_of(oldest->second);
    let_go.push_back(std::move(oldest->second));
    kept.of.erase(oldest);
    kept.in_order.pop_front();
  }
}

void ValueCache::keep(std::uint64_t bytes) {
  most_bytes_.store(bytes, std::memory_order_relaxed);
  std::deque<TensorValue> values;
  std::deque<Statistics> statistics;
  const std::lock_guard lock(mutex_);
  cut(values_, bytes, values);
  cut(statistics_, bytes / kStatisticsPart, statistics);
}

std::optional<TensorValue> ValueCache::value(const Key& key) const { return find(values_, key); }

bool ValueCache::has_value(const Key& key) const {
  if (!is_on()) return false;
  const std::lock_guard lock(mutex_);
  return values_.of.contains(key);
}

void ValueCache::put(const Key& key, const TensorValue& value) {
  put(values_, key, value, most_bytes_.load(std::memory_order_relaxed));
}

std::optional<Statistics> ValueCache::statistics(const Key& key) const {
  return find(statistics_, key);
}

void ValueCache::put(const Key& key, const Statistics& statistics) {
  put(statistics_, key, statistics, most_bytes_.load(std::memory_order_relaxed) / kStatisticsPart);
}

}  // namespace cupel::trial_detail
