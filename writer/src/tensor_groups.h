#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/mutex.h"
#include "cupel/writer/hook.h"
#include "save_plan.h"
#include "tensor_table.h"

namespace cupel {

// The tensors that are saved alike, and what the present step makes of them.
struct Group : detail::SaveGroup {
  Membership members;
  SaveDecision now;  // written between steps only
};

// The tensors that a hook knows, by the ways in which their collections are saved.
//
// Looking a tensor up and asking whether it is due takes no lock; naming tensors and collections
// does, and may be done from several threads. What is due is decided between steps.
class TensorGroups {
 public:
  using Decide = std::function<SaveDecision(const Membership&)>;

  // `decide` says what the present step makes of a group; it is asked once there is a plan.
  TensorGroups(Collections& collections, Decide decide);

  NamedTensor* find(std::string_view name) const noexcept { return table_.find(name); }
  NamedTensor* find_or_add(std::string_view name);
  // Puts the tensor into these collections, which are made if they are not there. The index says
  // so with the next row of the tensor. Does nothing, and returns false, where a run may not have
  // as many collections.
  bool join(NamedTensor& tensor, const CollectionNames& names);
  // Whether a call put a tensor into the collection.
  bool is_joined(std::string_view collection) const;
  // Whether one of these collections has the tensor, saved or not.
  bool is_in_any(const NamedTensor& tensor, std::span<const std::string_view> collections);

  // From now on the plan says who is in which collection; it must outlive the groups.
  void follow(const SavePlan& plan);
  // Decides anew about all groups.
  void decide_all();
  void nothing_is_due() noexcept;

  const SaveDecision& decision(const NamedTensor& tensor) const noexcept {
    return static_cast<const Group*>(tensor.group.load(std::memory_order_acquire))->now;
  }
  // Whether no saved collection has the tensor.
  bool is_unwanted(const NamedTensor& tensor) const noexcept { return tensor.group == never_; }

  // All tensors; not beside additions.
  std::deque<NamedTensor>& tensors() noexcept { return table_.tensors(); }
  // The collections as they were configured.
  Collections configured() const;
  // Adds what calls put into collections, in the order of the calls, up to so many bytes of text;
  // without names that a pattern finds. Returns how many names are left out.
  std::int64_t add_joined(Collections& to, std::uint64_t most_bytes) const;

 private:
  void place(NamedTensor& tensor) CUPEL_REQUIRES(mutex_);
  Group* group_of(const Membership& members) CUPEL_REQUIRES(mutex_);
  void take_listed(NamedTensor& tensor) CUPEL_REQUIRES(mutex_);
  void set_tags(NamedTensor& tensor, std::vector<std::string> tags) CUPEL_REQUIRES(mutex_);

  Collections& collections_;
  const Decide decide_;
  TensorTable table_;
  mutable Mutex mutex_;  // of collections_, too, while training threads run
  const SavePlan* plan_ CUPEL_GUARDED_BY(mutex_) = nullptr;
  std::map<Membership, std::unique_ptr<Group>> groups_ CUPEL_GUARDED_BY(mutex_);
  Group* never_;  // constant
  std::vector<std::unique_ptr<const std::vector<std::string>>> tag_lists_ CUPEL_GUARDED_BY(mutex_);
  struct Joining {
    const NamedTensor* tensor;
    const std::string* collection;
  };
  std::vector<Joining> joinings_ CUPEL_GUARDED_BY(mutex_);
  // Collections that they name.
  std::set<std::string, std::less<>> joined_ CUPEL_GUARDED_BY(mutex_);
  // Of the names that the configuration lists: in which collections.
  std::unordered_map<std::string, std::vector<std::string>> listed_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel
