#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "names.h"
#include "run_collections.h"

namespace cupel::trial_detail {

/// The tensors that joined a collection, by number. Only ever grows: one thread adds, any thread
/// asks.
class JoinedMembers {
 public:
  bool add(std::uint32_t tensor);
  bool contains(std::uint32_t tensor) const;
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  void add_names_to(Collection& collection, const NameTable& names) const;

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_set<std::uint32_t> tensors_;  // guarded by mutex_
  std::atomic<std::size_t> size_{0};
};

/// Which tensors joined which collections, as the rows of the index say. Only ever grows; a tensor
/// may be known as a member a moment before the step that says so. One thread adds, any thread
/// asks.
class JoinedTensors {
 public:
  /// Whether nothing had joined the collection before.
  bool add(std::uint32_t tensor, std::string_view collection);
  /// Null for a collection that nothing joined.
  const JoinedMembers* members(std::string_view collection) const;
  /// How many memberships there are: what was found out with fewer of them may be wrong now.
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  /// Adds the names of the collections.
  void add_names_to(std::set<std::string, std::less<>>& names) const;
  /// Adds the collections and their members.
  void add_to(Collections& collections, const NameTable& names) const;

 private:
  using Members = std::map<std::string, std::unique_ptr<JoinedMembers>, std::less<>>;
  mutable std::shared_mutex mutex_;
  Members members_;  // guarded by mutex_
  // Of the adding thread: rows mostly name the collection of the row before.
  Members::value_type* last_ = nullptr;
  std::atomic<std::size_t> size_{0};
};

/// What a collection selects: names that the collections files list, names that a pattern finds,
/// and names that joined.
struct CollectionFilter {
  const NameFilter* filter = nullptr;      ///< Null if no file has the collection.
  const JoinedMembers* members = nullptr;  ///< Null if nothing joined it.
  std::size_t joined = 0;                  ///< How many had joined it when this was made.

  bool selects(std::uint32_t id, const std::string& name) const {
    return (members != nullptr && members->contains(id)) ||
           (filter != nullptr && filter->selects(id, name));
  }
  friend bool operator==(const CollectionFilter&, const CollectionFilter&) = default;
};

}  // namespace cupel::trial_detail
