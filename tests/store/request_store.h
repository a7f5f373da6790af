#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/store/memory_store.h"

namespace cupel::testing {

/// How many requests of which kind were made.
struct Requests {
  int list = 0, get = 0, head = 0, put = 0, remove = 0, watch = 0;

  int all() const noexcept { return list + get + head + put + remove + watch; }
  Requests operator-(const Requests& before) const noexcept {
    return {list - before.list, get - before.get,       head - before.head,
            put - before.put,   remove - before.remove, watch - before.watch};
  }
  friend bool operator==(const Requests&, const Requests&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Requests& requests) {
    return out << requests.list << " LIST, " << requests.get << " GET, " << requests.head
               << " HEAD, " << requests.put << " PUT, " << requests.remove << " DELETE, "
               << requests.watch << " watches";
  }
};

/// Sealed: by put(). Synced: by somebody who appends to the inner store, from where a program puts
/// what has grown anew, so that each version is another object.
enum class Writing { Sealed, Synced };

/// A store as it is far away: objects are only put whole, each request is counted, takes time and
/// may fail, and a listing comes in pages that are not made at one moment. Any thread.
class RequestStore final : public Store {
 public:
  explicit RequestStore(std::shared_ptr<Store> inner = std::make_shared<MemoryStore>(),
                        Writing writing = Writing::Sealed)
      : inner_(std::move(inner)), writing_(writing) {}

  // Set before the store is used from several threads.
  std::function<void(std::string_view kind, std::string_view key)> before_request =
      [](std::string_view, std::string_view) {};
  std::function<void()> between_pages = [] {};
  std::chrono::microseconds latency{0};
  std::size_t page_size = 1000;
  std::uint64_t range_gap = 64U << 10U;  // parts with no more between them are one request

  /// Behind everything counted: for what a test or a writer does.
  Store& inner() const noexcept { return *inner_; }
  bool is_synced() const noexcept { return writing_ == Writing::Synced; }

  Requests requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  /// "GET key" and the like, in the order in which they were begun.
  std::vector<std::string> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  /// The most that were under way at one time.
  int most_at_once() const {
    const std::lock_guard lock(mutex_);
    return most_at_once_;
  }

  std::string location() const override { return "requests:" + inner_->location(); }
  void put(std::string_view key, std::span<const std::byte> bytes, Durability durability) override {
    const Request request(*this, &Requests::put, "PUT", key);
    inner_->put(key, bytes, durability);
  }
  bool can_append() const noexcept override { return false; }
  void append(std::string_view key, std::uint64_t,
              std::span<const std::span<const std::byte>>) override {
    throw StoreError(std::string(key), false, "nothing is appended here");
  }
  void sync(std::string_view) override {}
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most) const override {
    const Request request(*this, &Requests::get, "GET", key);
    return inner_->get(key, at_most);
  }
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override {
    const Request request(*this, &Requests::get, "GET", key);
    return inner_->get_range(key, offset, out);
  }
  void get_ranges(std::string_view key, std::span<Range> ranges) const override {
    std::vector<Range*> sorted;
    for (Range& range : ranges) sorted.push_back(&range);
    std::ranges::sort(sorted, {}, [](const Range* range) { return range->offset; });
    std::optional<std::uint64_t> end;
    for (Range* const range : sorted) {
      const bool follows = end && range->offset >= *end && range->offset - *end <= range_gap;
      std::optional<Request> request;
      if (!follows) request.emplace(*this, &Requests::get, "GET", key);
      range->got = inner_->get_range(key, range->offset, range->out);
      end = range->offset + range->out.size();
    }
  }
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after) const override {
    std::vector<ObjectInfo> found;
    for (std::string last(after);;) {
      const Request request(*this, &Requests::list, "LIST", prefix);
      std::vector<ObjectInfo> page = inner_->list(prefix, last);
      const bool is_last = page.size() <= page_size;
      page.resize(std::min(page.size(), page_size));
      for (ObjectInfo& info : page) distinguish(info);
      std::ranges::move(page, std::back_inserter(found));
      if (is_last) return found;
      last = found.back().key;
      between_pages();
    }
  }
  std::optional<ObjectInfo> stat(std::string_view key) const override {
    const Request request(*this, &Requests::head, "HEAD", key);
    std::optional<ObjectInfo> info = inner_->stat(key);
    if (info) distinguish(*info);
    return info;
  }
  void remove(std::string_view key) override {
    const Request request(*this, &Requests::remove, "DELETE", key);
    inner_->remove(key);
  }
  std::unique_ptr<Watch> watch(std::string_view prefix) const override {
    const Request request(*this, &Requests::watch, "watch", prefix);
    return inner_->watch(prefix);
  }

 private:
  class Request {
   public:
    Request(const RequestStore& store, int Requests::*kind, std::string_view name,
            std::string_view key)
        : store_(store) {
      {
        const std::lock_guard lock(store.mutex_);
        ++(store.requests_.*kind);
        store.log_.push_back(std::string(name) + " " + std::string(key));
        store.most_at_once_ = std::max(store.most_at_once_, ++store.under_way_);
      }
      try {
        store.before_request(name, key);
        if (store.latency.count() > 0) std::this_thread::sleep_for(store.latency);
      } catch (...) {
        end();
        throw;
      }
    }
    ~Request() { end(); }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

   private:
    void end() {
      const std::lock_guard lock(store_.mutex_);
      --store_.under_way_;
    }
    const RequestStore& store_;
  };

  void distinguish(ObjectInfo& info) const {
    if (is_synced()) info.identity += " " + std::to_string(info.size);
  }

  const std::shared_ptr<Store> inner_;
  const Writing writing_;
  mutable std::mutex mutex_;
  mutable Requests requests_;  // guarded by mutex_, as is all that follows
  mutable std::vector<std::string> log_;
  mutable int under_way_ = 0, most_at_once_ = 0;
};

}  // namespace cupel::testing
