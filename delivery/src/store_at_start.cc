#include "store_at_start.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cupel::delivery_detail {

StoreAtStart::StoreAtStart(std::shared_ptr<LocalStore> spool, std::shared_ptr<Store> remote)
    : spool_(std::move(spool)), remote_(std::move(remote)) {}

void StoreAtStart::prefer_remote(std::string key, std::vector<std::byte> bytes) {
  newer_key_ = std::move(key);
  newer_bytes_ = std::move(bytes);
}

void StoreAtStart::put(std::string_view key, std::span<const std::byte> bytes,
                       Durability durability) {
  spool_->put(key, bytes, durability);
}

void StoreAtStart::append(std::string_view key, std::uint64_t expected_size,
                          std::span<const std::span<const std::byte>> pieces) {
  spool_->append(key, expected_size, pieces);
}

std::optional<std::vector<std::byte>> StoreAtStart::get(std::string_view key,
                                                        std::uint64_t at_most) const {
  if (!key.empty() && key == newer_key_) return newer_bytes_;
  auto bytes = spool_->get(key, at_most);
  return bytes ? std::move(bytes) : remote_->get(key, at_most);
}

std::size_t StoreAtStart::get_range(std::string_view key, std::uint64_t offset,
                                    std::span<std::byte> out) const {
  return spool_->stat(key) ? spool_->get_range(key, offset, out)
                           : remote_->get_range(key, offset, out);
}

std::vector<ObjectInfo> StoreAtStart::list(std::string_view prefix, std::string_view after) const {
  const std::vector<ObjectInfo> here = spool_->list(prefix, after);
  std::vector<ObjectInfo> there = remote_->list(prefix, after);
  std::erase_if(there, [&](const ObjectInfo& info) {
    return std::ranges::binary_search(here, info.key, {}, &ObjectInfo::key);
  });
  std::vector<ObjectInfo> all;
  std::ranges::merge(here, there, std::back_inserter(all), {}, &ObjectInfo::key, &ObjectInfo::key);
  return all;
}

std::optional<ObjectInfo> StoreAtStart::stat(std::string_view key) const {
  auto info = spool_->stat(key);
  return info ? std::move(info) : remote_->stat(key);
}

// From the spool first: after an interruption, what is in the remote store alone is a run as any
// other.
void StoreAtStart::remove(std::string_view key) {
  spool_->remove(key);
  remote_->remove(key);
}

std::unique_ptr<Watch> StoreAtStart::watch(std::string_view prefix) const {
  return spool_->watch(prefix);
}

}  // namespace cupel::delivery_detail
