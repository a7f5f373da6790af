#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/store/local_store.h"
#include "cupel/store/store.h"

namespace cupel::delivery_detail {

// The run of a worker before it is delivered: the files in the spool and, for other keys, those in
// the remote store. So the writer finds the run that is there, no matter how much of it was
// uploaded. remove() removes from both; all other changes go to the spool.
class StoreAtStart final : public Store {
 public:
  StoreAtStart(std::shared_ptr<LocalStore> spool, std::shared_ptr<Store> remote);

  // The remote store has a newer file of this key: get() returns `bytes`.
  void prefer_remote(std::string key, std::vector<std::byte> bytes);

  std::string location() const override { return remote_->location(); }
  bool can_append() const noexcept override { return true; }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override;
  void append(std::string_view key, std::uint64_t expected_size,
              std::span<const std::span<const std::byte>> pieces) override;
  void sync(std::string_view key) override { spool_->sync(key); }
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override;
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override;
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override;
  std::optional<ObjectInfo> stat(std::string_view key) const override;
  void remove(std::string_view key) override;
  std::unique_ptr<Watch> watch(std::string_view prefix) const override;

 private:
  const std::shared_ptr<LocalStore> spool_;
  const std::shared_ptr<Store> remote_;
  std::string newer_key_;  // "" for none
  std::vector<std::byte> newer_bytes_;
};

}  // namespace cupel::delivery_detail
