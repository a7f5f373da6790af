#include "collection_members.h"

#include "cupel/core/mutex.h"

namespace cupel::trial_detail {

bool CollectionMembers::add(std::uint32_t tensor) {
  // Only this thread inserts, so looking needs no lock.
  if (tensors_.contains(tensor)) return false;
  const WriterLock lock(mutex_);
  tensors_.insert(tensor);
  size_.store(tensors_.size(), std::memory_order_release);
  return true;
}

bool CollectionMembers::contains(std::uint32_t tensor) const {
  const ReaderLock lock(mutex_);
  return tensors_.contains(tensor);
}

void CollectionMembers::add_names_to(Collection& collection, const NameTable& names) const {
  const ReaderLock lock(mutex_);
  for (const std::uint32_t tensor : tensors_) collection.add_tensor_name(names[tensor]);
}

bool MemberTable::add(std::uint32_t tensor, std::string_view collection) {
  bool is_new = false;
  if (last_ == nullptr || last_->first != collection) {
    auto known = members_.find(collection);
    if (known == members_.end()) {
      auto members = std::make_unique<CollectionMembers>();
      const WriterLock lock(mutex_);
      known = members_.emplace(collection, std::move(members)).first;
      is_new = true;
    }
    last_ = &*known;
  }
  if (last_->second->add(tensor)) size_.fetch_add(1, std::memory_order_acq_rel);
  return is_new;
}

const CollectionMembers* MemberTable::members(std::string_view collection) const {
  const ReaderLock lock(mutex_);
  const auto found = members_.find(collection);
  return found == members_.end() ? nullptr : found->second.get();
}

void MemberTable::add_names_to(std::set<std::string, std::less<>>& names) const {
  const ReaderLock lock(mutex_);
  for (const auto& [name, members] : members_) names.insert(name);
}

void MemberTable::add_to(Collections& collections, const NameTable& names) const {
  const ReaderLock lock(mutex_);
  for (const auto& [name, members] : members_)
    members->add_names_to(collections.try_emplace(name, name).first->second, names);
}

}  // namespace cupel::trial_detail
