#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/store/store.h"

namespace cupel::testing {

/// How much of its work a failing call has done: a put or append that is done, but reports failure;
/// an append that leaves a torn tail (of a put there are no parts).
enum class Done { Nothing, Part, All };

struct StoreFault {
  std::int64_t call = -1;  ///< Which call fails, counted from 0; -1: none.
  bool lasting = false;    ///< All that follow fail, too.
  Done done = Done::Nothing;
  bool foreign = false;  ///< What is thrown is no std::exception.
};

/// Hands everything on to another store and counts it; one call, or all from one on, fail.
class FaultyStore final : public Store {
 public:
  FaultyStore(std::shared_ptr<Store> inner, StoreFault fault)
      : inner_(std::move(inner)), fault_(fault) {}

  std::int64_t calls() const noexcept { return calls_; }
  /// The call that failed first, as "append index/…"; "" if none has.
  std::string failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

  std::string location() const override { return inner_->location(); }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    const bool fails = is_next_to_fail("put", key);
    if (!fails || fault_.done == Done::All) inner_->put(key, bytes, durability);
    if (fails) fail(key);
  }
  bool can_append() const noexcept override { return true; }
  void append(std::string_view key, std::uint64_t size,
              std::span<const std::span<const std::byte>> pieces) override {
    const bool fails = is_next_to_fail("append", key);
    if (!fails || fault_.done == Done::All) {
      inner_->append(key, size, pieces);
    } else if (fault_.done == Done::Part) {
      std::vector<std::byte> all;
      for (const auto& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
      const std::span<const std::byte> half(all.data(), all.size() / 2);
      inner_->append(key, size, std::span(&half, 1));
    }
    if (fails) fail(key);
  }
  void sync(std::string_view key) override {
    if (is_next_to_fail("sync", key)) fail(key);
    inner_->sync(key);
  }
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override {
    if (is_next_to_fail("get", key)) fail(key);
    return inner_->get(key, at_most);
  }
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    if (is_next_to_fail("get_range", key)) fail(key);
    return inner_->get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    if (is_next_to_fail("list", prefix)) fail(prefix);
    return inner_->list(prefix, after);
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override {
    if (is_next_to_fail("stat", key)) fail(key);
    return inner_->stat(key);
  }
  void remove(std::string_view key) override {
    const bool fails = is_next_to_fail("remove", key);
    if (!fails || fault_.done == Done::All) inner_->remove(key);
    if (fails) fail(key);
  }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    return inner_->watch(prefix);
  }

 private:
  bool is_next_to_fail(std::string_view what, std::string_view key) const {
    const std::int64_t call = calls_++;
    const bool fails =
        fault_.call >= 0 && (fault_.lasting ? call >= fault_.call : call == fault_.call);
    if (!fails) return false;
    const std::lock_guard lock(mutex_);
    if (failed_.empty()) failed_ = std::string(what) + ' ' + std::string(key);
    return true;
  }
  [[noreturn]] void fail(std::string_view key) const {
    if (fault_.foreign) throw 42;  // NOLINT(*-exception-baseclass)
    throw StoreError(std::string(key), false, "the medium has failed");
  }

  std::shared_ptr<Store> inner_;
  const StoreFault fault_;
  mutable std::atomic<std::int64_t> calls_{0};
  mutable std::mutex mutex_;
  mutable std::string failed_;  // guarded by mutex_
};

}  // namespace cupel::testing
