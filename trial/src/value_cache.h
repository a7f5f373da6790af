#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cupel/stats/statistics.h"
#include "cupel/trial/tensor_value.h"
#include "rows.h"

namespace cupel::trial_detail {

/// Values that were read lately, and what was computed of them, for views that look at the same
/// steps at about the same time. Keeps nothing until it is told how much. Any thread.
class ValueCache {
 public:
  /// Which row of which block; blocks live as long as the index.
  struct Key {
    const RowBlock* block = nullptr;
    std::size_t row = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// What is more than that is let go.
  void keep(std::uint64_t bytes);
  bool is_on() const noexcept { return most_bytes_.load(std::memory_order_relaxed) > 0; }

  std::optional<TensorValue> value(const Key& key) const;
  bool has_value(const Key& key) const;
  void put(const Key& key, const TensorValue& value);

  /// Of the value of a row.
  std::optional<Statistics> statistics(const Key& key) const;
  void put(const Key& key, const Statistics& statistics);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<const void*>()(key.block) * 31 + key.row;
    }
  };
  // What is kept for longest goes first.
  template <class T>
  struct Kept {
    std::unordered_map<Key, T, Hash> of;
    std::deque<Key> in_order;
    std::uint64_t bytes = 0;
  };
  template <class T>
  std::optional<T> find(const Kept<T>& kept, const Key& key) const;
  template <class T>
  void put(Kept<T>& kept, const Key& key, const T& what, std::uint64_t most_bytes);
  template <class T>
  static void cut(Kept<T>& kept, std::uint64_t most_bytes, std::deque<T>& let_go);

  std::atomic<std::uint64_t> most_bytes_{0};
  mutable std::mutex mutex_;
  Kept<TensorValue> values_;     // guarded by mutex_
  Kept<Statistics> statistics_;  // likewise
};

}  // namespace cupel::trial_detail
