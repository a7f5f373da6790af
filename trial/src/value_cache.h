#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

#include "cupel/core/mutex.h"
#include "cupel/stats/statistics.h"
#include "cupel/trial/tensor_value.h"
#include "rows.h"

namespace cupel::trial_detail {

/// A cache of values that were read, and of statistics computed from them, for views that read the
/// same steps at about the same time. Keeps nothing until keep() is called. Any thread.
class ValueCache {
 public:
  /// A row of a block; blocks live as long as the index data.
  struct Key {
    const RowBlock* block = nullptr;
    std::size_t row = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// Sets the limit of the values, and drops the oldest values above it.
  void keep(std::uint64_t bytes);
  bool is_on() const noexcept { return most_bytes_.load(std::memory_order_relaxed) > 0; }

  std::optional<TensorValue> value(const Key& key) const;
  bool has_value(const Key& key) const;
  void put(const Key& key, const TensorValue& value);

  /// The statistics of the value of a row.
  std::optional<Statistics> statistics(const Key& key) const;
  void put(const Key& key, const Statistics& statistics);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<const void*>()(key.block) * 31 + key.row;
    }
  };
  // The oldest entry is dropped first.
  template <class T>
  struct Kept {
    std::unordered_map<Key, T, Hash> of;
    std::deque<Key> in_order;
    std::uint64_t bytes = 0;
  };
  template <class T>
  std::optional<T> find(const Kept<T>& kept, const Key& key) const CUPEL_REQUIRES(mutex_);
  template <class T>
  void put(Kept<T>& kept, const Key& key, const T& what, std::uint64_t most_bytes,
           std::deque<T>& dropped) CUPEL_REQUIRES(mutex_);
  template <class T>
  static void cut(Kept<T>& kept, std::uint64_t most_bytes, std::deque<T>& dropped);

  std::atomic<std::uint64_t> most_bytes_{0};
  mutable Mutex mutex_;
  Kept<TensorValue> values_ CUPEL_GUARDED_BY(mutex_);
  Kept<Statistics> statistics_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel::trial_detail
