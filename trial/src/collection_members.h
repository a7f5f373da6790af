#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "cupel/core/mutex.h"
#include "names.h"
#include "run_collections.h"

namespace cupel::trial_detail {

/// The tensors that joined one collection by a call of a hook, by number. Only grows: one thread
/// adds, any thread reads.
class CollectionMembers {
 public:
  // Not checked: the one thread that adds reads without a lock.
  bool add(std::uint32_t tensor) CUPEL_UNCHECKED_LOCKS;
  bool contains(std::uint32_t tensor) const;
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  void add_names_to(Collection& collection, const NameTable& names) const;

 private:
  mutable SharedMutex mutex_;
  std::unordered_set<std::uint32_t> tensors_ CUPEL_GUARDED_BY(mutex_);
  std::atomic<std::size_t> size_{0};
};

/// The tensors that joined collections by calls of hooks, as the rows of the index name them. Only
/// grows; a tensor may be a member a moment before the step whose rows name it is published. One
/// thread adds, any thread reads.
class MemberTable {
 public:
  /// Adds a member; true if it is the first one of the collection.
  // Not checked: the one thread that adds reads without a lock.
  bool add(std::uint32_t tensor, std::string_view collection) CUPEL_UNCHECKED_LOCKS;
  /// The members of a collection; null if no tensor joined it.
  const CollectionMembers* members(std::string_view collection) const;
  /// The number of memberships. A filter that was made with fewer of them may be out of date.
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  /// Adds the names of the collections.
  void add_names_to(std::set<std::string, std::less<>>& names) const;
  /// Adds the collections and their members.
  void add_to(Collections& collections, const NameTable& names) const;

 private:
  using Members = std::map<std::string, std::unique_ptr<CollectionMembers>, std::less<>>;
  mutable SharedMutex mutex_;
  Members members_ CUPEL_GUARDED_BY(mutex_);
  // The collection of the row before, which most rows name again. Of the adding thread.
  Members::value_type* last_ = nullptr;
  std::atomic<std::size_t> size_{0};
};

/// The names that a collection selects: those that the collections files list, those that its
/// patterns match, and those that joined it.
struct CollectionFilter {
  const NameFilter* filter = nullptr;          ///< Null if no file has the collection.
  const CollectionMembers* members = nullptr;  ///< Null if no tensor joined it.
  std::size_t member_count = 0;                ///< The size of `members` when this filter was made.

  bool selects(std::uint32_t id, const std::string& name) const {
    return (members != nullptr && members->contains(id)) ||
           (filter != nullptr && filter->selects(id, name));
  }
  friend bool operator==(const CollectionFilter&, const CollectionFilter&) = default;
};

}  // namespace cupel::trial_detail
