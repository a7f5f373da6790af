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

namespace cupel::writer_detail {

// The tensors that are saved alike, and what the present step makes of them.
struct Group {
  Membership members;
  SaveDecision now;                              // written between steps only
  DueFlag::Answer answer = DueFlag::Answer::No;  // of each tensor's flag
  std::vector<NamedTensor*> tensors;
};

// The tensors that a hook knows, by the ways in which their collections are saved, and the
// collections.
//
// Looking a tensor up and asking whether it is due takes no lock; naming tensors and collections
// does, and may be done from several threads. What is due is decided between steps: once for each
// group, and the flags of its tensors change where the decision does.
class TensorGroups {
 public:
  using Decide = std::function<SaveDecision(const Membership&)>;

  // `decide` returns what the present step makes of a group; it is asked once there is a plan.
  TensorGroups(Collections collections, Decide decide);

  // The configured collections, and those that calls have made; changed before the first step.
  Collections& collections() noexcept { return collections_; }
  const Collections& collections() const noexcept { return collections_; }

  NamedTensor* find(std::string_view name) const noexcept { return table_.find(name); }
  NamedTensor* find_or_add(std::string_view name);
  // Puts the tensor into these collections, which are made if they are not there. The index has
  // that with the next row of the tensor. Does nothing, and returns false, where a run may not have
  // as many collections.
  bool join(NamedTensor& tensor, const CollectionNames& names);
  // Whether a call put a tensor into the collection.
  bool is_joined(std::string_view collection) const;
  // Whether one of these collections has the tensor, saved or not.
  bool is_in_any(const NamedTensor& tensor, std::span<const std::string_view> collections);

  // From now on the plan decides who is in which collection; it must outlive the groups.
  void follow(const SavePlan& plan);
  // Decides anew about all groups.
  void decide_all();
  // The step has ended: nothing is due, and saves of tensors that were due come too late.
  void end_step() noexcept;
  void nothing_is_due() noexcept;

  const SaveDecision& decision(const NamedTensor& tensor) const noexcept {
    return tensor.group.load(std::memory_order_acquire)->now;
  }
  // The names, sorted, that were not saved and are in no saved collection; without reserved names.
  std::vector<std::string> never_saved() const;

  // The collections as they were configured.
  Collections configured() const;
  // Adds what calls put into collections, in the order of the calls, up to so many bytes of text;
  // without names that a pattern finds. Returns how many names are left out.
  std::int64_t add_joined(Collections& to, std::uint64_t most_bytes) const;
  // All collections, also those that calls have made, without the tensors that calls put there.
  Collections without_joinings() const;
  // The collections with the names of all tensors so far that are in them, by pattern or by a call.
  Collections now() const;

 private:
  // Puts the tensor into its group; `before`: that it is in so far, null for none.
  void place(NamedTensor& tensor, const Group* before) CUPEL_REQUIRES(mutex_);
  Group* group_of(const Membership& members) CUPEL_REQUIRES(mutex_);
  static void answer(Group& group, DueFlag::Answer answer) noexcept;
  void take_listed(NamedTensor& tensor) CUPEL_REQUIRES(mutex_);
  void set_tags(NamedTensor& tensor, std::vector<std::string> tags) CUPEL_REQUIRES(mutex_);

  const Decide decide_;
  TensorTable table_;
  mutable Mutex mutex_;
  Collections collections_;  // guarded by mutex_, too, while training threads run
  const SavePlan* plan_ CUPEL_GUARDED_BY(mutex_) = nullptr;
  std::map<Membership, std::unique_ptr<Group>> groups_ CUPEL_GUARDED_BY(mutex_);
  Group* const never_;  // of tensors that no saved collection has
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

}  // namespace cupel::writer_detail
