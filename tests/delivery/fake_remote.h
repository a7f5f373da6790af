#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/format/layout.h"
#include "cupel/format/segment_remains.h"
#include "cupel/store/memory_store.h"

namespace cupel::testing {

/// A store far away, as object storage is: it cannot append, each request is counted, and a test
/// has requests fail or wait. What it holds, others may read as `content()` meanwhile.
///
/// It looks at everything that is put: a reader of the run must at every moment find values and
/// collections file for each index object, and the index objects of a worker in their order.
class FakeRemote final : public Store {
 public:
  explicit FakeRemote(
      std::shared_ptr<MemoryStore> content = std::make_shared<MemoryStore>()) noexcept
      : content_(std::move(content)) {}

  std::shared_ptr<MemoryStore> content() const { return content_; }

  /// Called before each request with "put", "get", "list", "stat" or "remove" and the key; may
  /// throw.
  void before(std::function<void(std::string_view what, std::string_view key)> call) {
    const std::lock_guard lock(mutex_);
    before_ = std::move(call);
  }
  void fail_all() {
    before([](std::string_view, std::string_view key) {
      throw StoreError(std::string(key), true, "connection refused");
    });
  }
  void work_again() { before({}); }

  /// Requests wait from now on; until then, or until they are interrupted.
  void block() { set_blocked(true); }
  void unblock() { set_blocked(false); }
  /// Waits until so many requests are being made to wait.
  void await_blocked(std::size_t requests) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= requests; });
  }

  std::size_t requests(std::string_view what) const {
    const std::lock_guard lock(mutex_);
    const auto found = requests_.find(what);
    return found == requests_.end() ? 0 : found->second;
  }
  std::size_t requests() const {
    const std::lock_guard lock(mutex_);
    std::size_t all = 0;
    for (const auto& [what, count] : requests_) all += count;
    return all;
  }
  /// The keys that were put, in order.
  std::vector<std::string> puts(std::string_view prefix = {}) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (const std::string& key : puts_)
      if (key.starts_with(prefix)) keys.push_back(key);
    return keys;
  }
  std::size_t most_at_once() const {
    const std::lock_guard lock(mutex_);
    return most_at_once_;
  }
  /// What a reader could have stumbled over; empty if nothing.
  std::vector<std::string> offences() const {
    const std::lock_guard lock(mutex_);
    return offences_;
  }

  std::string location() const override { return "s3://bucket/run"; }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    const Request request(*this, "put", key);
    const std::lock_guard lock(mutex_);
    inspect(key, bytes);
    puts_.emplace_back(key);
    content_->put(key, bytes, durability);
  }
  bool can_append() const noexcept override { return false; }
  void append(std::string_view key, std::uint64_t,
              std::span<const std::span<const std::byte>>) override {
    throw StoreError(std::string(key), false, "objects cannot be appended to");
  }
  void sync(std::string_view) override {}
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override {
    const Request request(*this, "get", key);
    return content_->get(key, at_most);
  }
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    const Request request(*this, "get", key);
    return content_->get_range(key, offset, out);
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    const Request request(*this, "list", prefix);
    return content_->list(prefix, after);
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override {
    const Request request(*this, "stat", key);
    return content_->stat(key);
  }
  void remove(std::string_view key) override {
    const Request request(*this, "remove", key);
    content_->remove(key);
    // A run that is replaced begins anew.
    const std::lock_guard lock(mutex_);
    if (const auto name = SegmentName::parse_index_key(key)) newest_.erase(name->worker);
  }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    return content_->watch(prefix);
  }
  void interrupt() noexcept override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }

 private:
  // Counts a request, and has it fail or wait.
  class Request {
   public:
    Request(const FakeRemote& remote, std::string_view what, std::string_view key)
        : remote_(remote) {
      std::unique_lock lock(remote.mutex_);
      ++remote.requests_[std::string(what)];
      const auto call = remote.before_;
      lock.unlock();
      if (call) call(what, key);
      lock.lock();
      ++remote.waiting_;
      remote.changed_.notify_all();
      remote.changed_.wait(lock, [&] { return !remote.blocked_ || remote.interrupted_; });
      --remote.waiting_;
      if (remote.interrupted_) throw StoreError(std::string(key), true, "interrupted");
      remote.most_at_once_ = std::max(remote.most_at_once_, ++remote.at_once_);
    }
    ~Request() {
      const std::lock_guard lock(remote_.mutex_);
      --remote_.at_once_;
    }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

   private:
    const FakeRemote& remote_;
  };
  friend class Request;

  void set_blocked(bool blocked) {
    const std::lock_guard lock(mutex_);
    blocked_ = blocked;
    changed_.notify_all();
  }

  void inspect(std::string_view key, std::span<const std::byte> bytes) {
    const auto name = SegmentName::parse_index_key(key);
    if (!name) return;
    const auto offend = [&](const char* what) {
      offences_.push_back(std::string(key) + ": " + what);
    };
    std::string& newest = newest_[name->worker];
    if (newest >= key) offend("is not behind the one before it");
    newest = std::max(newest, std::string(key));
    if (!content_->stat(collections_key(name->worker))) offend("there is no collections file");
    auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
    std::ranges::copy(bytes, buffer->data());
    const IndexRemains index = read_index_remains(std::string(key), buffer);
    if (index.end != SegmentEnd::Sealed) offend("is not sealed");
    const auto values = content_->stat(name->events_key());
    if (index.values_end > (values ? values->size : 0)) offend("its values are not there");
  }

  const std::shared_ptr<MemoryStore> content_;
  mutable std::mutex mutex_;  // what follows
  mutable std::condition_variable changed_;
  std::function<void(std::string_view, std::string_view)> before_;
  bool blocked_ = false, interrupted_ = false;
  mutable std::size_t waiting_ = 0;
  mutable std::size_t at_once_ = 0, most_at_once_ = 0;
  mutable std::map<std::string, std::size_t, std::less<>> requests_;
  std::vector<std::string> puts_;
  std::map<std::string, std::string> newest_;
  std::vector<std::string> offences_;
};

}  // namespace cupel::testing
