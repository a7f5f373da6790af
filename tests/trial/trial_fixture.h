#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cupel/store/memory_store.h"
#include "cupel/trial/trial.h"
#include "trial/run_builder.h"

namespace cupel::testing {

using Steps = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// A run in memory with the trial that reads it.
struct MemoryRun {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();

  Trial open(TrialOptions options = {}) const { return Trial(store, std::move(options)); }
  WorkerWriter worker(WorkerSpec spec = {}) const { return WorkerWriter(*store, std::move(spec)); }
  void end() const { store->put(kEndMarker, {}); }
};

/// Passes everything on to another store; a test may put something between.
class StoreWrapper : public Store {
 public:
  explicit StoreWrapper(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  std::function<void(std::string_view key)> before_get_range = [](std::string_view) {};
  std::function<void(std::string_view key)> before_list = [](std::string_view) {};

  std::string location() const override { return inner_->location(); }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    inner_->put(key, bytes, durability);
  }
  bool can_append() const noexcept override { return inner_->can_append(); }
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    inner_->append(key, size, pieces);
  }
  void sync(std::string_view key) override { inner_->sync(key); }
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override {
    return inner_->get(key, at_most);
  }
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    before_get_range(key);
    return inner_->get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    before_list(prefix);
    return inner_->list(prefix, after);
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override { return inner_->stat(key); }
  void remove(std::string_view key) override { inner_->remove(key); }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    return inner_->watch(prefix);
  }

 private:
  std::shared_ptr<Store> inner_;
};

}  // namespace cupel::testing
