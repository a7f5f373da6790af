#pragma once

#include <memory>
#include <utility>

#include "cupel/store/store.h"

namespace cupel::testing {

/// Passes everything on to another store.
class WrappedStore : public Store {
 public:
  explicit WrappedStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

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
    return inner_->get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    return inner_->list(prefix, after);
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override { return inner_->stat(key); }
  void remove(std::string_view key) override { inner_->remove(key); }
  LockState lock_state(std::string_view name) const noexcept override {
    return inner_->lock_state(name);
  }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    return inner_->watch(prefix);
  }
  void interrupt() noexcept override { inner_->interrupt(); }

 private:
  std::shared_ptr<Store> inner_;
};

}  // namespace cupel::testing
