#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/store/memory_store.h"
#include "store/wrapped_store.h"

namespace cupel::testing {

/// A call that changed a store, or the news that a step was acknowledged.
struct StoreCall {
  enum class Kind { Put, Append, Sync, Remove, Acknowledged };
  Kind kind;
  std::string key = {};
  std::vector<std::byte> bytes = {};
  bool durable = false;
  std::int64_t step = -1;
};

/// A store that grows, and keeps what was asked of it in order.
class RecordingStore final : public WrappedStore {
 public:
  RecordingStore() : WrappedStore(std::make_shared<MemoryStore>()) {}

  /// What was called so far.
  std::vector<StoreCall> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void acknowledged(std::int64_t step) {
    note({.kind = StoreCall::Kind::Acknowledged, .step = step});
  }

  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    WrappedStore::put(key, bytes, durability);
    note({StoreCall::Kind::Put,
          std::string(key),
          {bytes.begin(), bytes.end()},
          durability == Durability::Durable});
  }
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    WrappedStore::append(key, size, pieces);
    StoreCall call{StoreCall::Kind::Append, std::string(key)};
    for (const auto& piece : pieces)
      call.bytes.insert(call.bytes.end(), piece.begin(), piece.end());
    note(std::move(call));
  }
  void sync(std::string_view key) override {
    WrappedStore::sync(key);
    note({StoreCall::Kind::Sync, std::string(key)});
  }
  void remove(std::string_view key) override {
    WrappedStore::remove(key);
    note({StoreCall::Kind::Remove, std::string(key)});
  }

 private:
  void note(StoreCall call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }

  mutable std::mutex mutex_;
  std::vector<StoreCall> calls_;
};

}  // namespace cupel::testing
