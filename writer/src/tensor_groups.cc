#include "tensor_groups.h"

#include <algorithm>
#include <span>
#include <utility>

namespace cupel {
namespace {

std::span<const std::string> tags_of(const NamedTensor& tensor) noexcept {
  const auto* tags = tensor.tags.load(std::memory_order_acquire);
  return tags == nullptr ? std::span<const std::string>() : std::span(*tags);
}

}  // namespace

TensorGroups::TensorGroups(Collections& collections, Decide decide)
    : collections_(collections), decide_(std::move(decide)), never_(group_of({})) {}

NamedTensor* TensorGroups::find_or_add(std::string_view name) {
  return table_.find_or_add(name, [this](NamedTensor& added) {
    const std::lock_guard lock(mutex_);
    place(added);
  });
}

bool TensorGroups::is_in_any(const NamedTensor& tensor,
                             std::span<const std::string_view> collections) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(collections, [&](std::string_view name) {
    const auto found = collections_.find(name);
    return found != collections_.end() && found->second.contains(tensor.name);
  });
}

bool TensorGroups::has_room_for(const NamedTensor& tensor, const CollectionNames& names) {
  const auto is_known = [tags = tags_of(tensor)](std::string_view name) {
    return std::ranges::find(tags, name) != tags.end();
  };
  if (std::ranges::all_of(names.names(), is_known)) return true;
  const std::lock_guard lock(mutex_);
  if (collections_.size() + names.names().size() <= kMostCollections) return true;
  return std::ranges::all_of(names.names(),
                             [&](std::string_view name) { return collections_.contains(name); });
}

void TensorGroups::join(NamedTensor& tensor, const CollectionNames& names) {
  const auto is_known = [tags = tags_of(tensor)](std::string_view name) {
    return std::ranges::find(tags, name) != tags.end();
  };
  if (std::ranges::all_of(names.names(), is_known)) return;
  const std::lock_guard lock(mutex_);
  const auto known = tags_of(tensor);
  auto joined = std::make_unique<std::vector<std::string>>(known.begin(), known.end());
  for (const std::string_view name : names.names()) {
    if (std::ranges::find(*joined, name) != joined->end()) continue;
    joined->emplace_back(name);
    collections_.try_emplace(std::string(name), std::string(name))
        .first->second.add_tensor_name(tensor.name);
    collections_changed_ = true;
  }
  tag_lists_.push_back(std::move(joined));
  tensor.tags.store(tag_lists_.back().get(), std::memory_order_release);
  place(tensor);
}

void TensorGroups::place(NamedTensor& tensor) {
  Group* group =
      plan_ == nullptr ? never_ : group_of(plan_->membership(tensor.name, tags_of(tensor)));
  tensor.group.store(group, std::memory_order_release);
}

Group* TensorGroups::group_of(const Membership& members) {
  const auto known = groups_.find(members);
  if (known != groups_.end()) return known->second.get();
  auto group = std::make_unique<Group>();
  group->members = members;
  if (plan_ != nullptr) group->now = decide_(members);
  group->due.store(group->now.any(), std::memory_order_relaxed);
  return groups_.emplace(members, std::move(group)).first->second.get();
}

void TensorGroups::follow(const SavePlan& plan) {
  const std::lock_guard lock(mutex_);
  plan_ = &plan;
  for (NamedTensor& tensor : table_.tensors()) place(tensor);
}

void TensorGroups::decide_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [members, group] : groups_) {
    group->now = decide_(members);
    group->due.store(group->now.any(), std::memory_order_relaxed);
  }
}

void TensorGroups::nothing_is_due() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [members, group] : groups_) group->due.store(false, std::memory_order_relaxed);
}

bool TensorGroups::take_changes(Collections& copy) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(collections_changed_, false)) return false;
  copy = collections_;
  return true;
}

}  // namespace cupel
