#include "joined_tensors.h"

namespace cupel::trial_detail {

bool JoinedMembers::add(std::uint32_t tensor) {
  // Only this thread inserts, so looking needs no lock.
  if (tensors_.contains(tensor)) return false;
  const std::unique_lock lock(mutex_);
  tensors_.insert(tensor);
  size_.store(tensors_.size(), std::memory_order_release);
  return true;
}

bool JoinedMembers::contains(std::uint32_t tensor) const {
  const std::shared_lock lock(mutex_);
  return tensors_.contains(tensor);
}

void JoinedMembers::add_names_to(Collection& collection, const NameTable& names) const {
  const std::shared_lock lock(mutex_);
  for (const std::uint32_t tensor : tensors_) collection.add_tensor_name(names[tensor]);
}

bool JoinedTensors::add(std::uint32_t tensor, std::string_view collection) {
  bool is_new = false;
  if (last_ == nullptr || last_->first != collection) {
    auto known = members_.find(collection);
    if (known == members_.end()) {
      auto members = std::make_unique<JoinedMembers>();
      const std::unique_lock lock(mutex_);
      known = members_.emplace(collection, std::move(members)).first;
      is_new = true;
    }
    last_ = &*known;
  }
  if (last_->second->add(tensor)) size_.fetch_add(1, std::memory_order_acq_rel);
  return is_new;
}

const JoinedMembers* JoinedTensors::members(std::string_view collection) const {
  const std::shared_lock lock(mutex_);
  const auto found = members_.find(collection);
  return found == members_.end() ? nullptr : found->second.get();
}

void JoinedTensors::add_names_to(std::set<std::string, std::less<>>& names) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [name, members] : members_) names.insert(name);
}

void JoinedTensors::add_to(Collections& collections, const NameTable& names) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [name, members] : members_)
    members->add_names_to(collections.try_emplace(name, name).first->second, names);
}

}  // namespace cupel::trial_detail
