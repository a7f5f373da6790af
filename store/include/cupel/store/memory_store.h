#pragma once

#include <memory>

#include "cupel/store/store.h"

namespace cupel {

/// A Store in memory, for tests and for runs that are not kept.
class MemoryStore final : public Store {
 public:
  MemoryStore();
  ~MemoryStore() override;

  std::string location() const override { return "memory:"; }
  void put(std::string_view key, std::span<const std::byte> bytes,
           Durability durability = Durability::Durable) override;
  bool can_append() const noexcept override { return true; }
  void append(std::string_view key, std::uint64_t expected_size,
              std::span<const std::span<const std::byte>> pieces) override;
  void sync(std::string_view key) override;
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most = 64U << 20U) const override;
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override;
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after = {}) const override;
  std::optional<ObjectInfo> stat(std::string_view key) const override;
  void remove(std::string_view key) override;
  std::unique_ptr<Watch> watch(std::string_view prefix = {}) const override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cupel
