// Names, collections and what is due. A tensor belongs to the group of its membership, the ways of
// saving of its collections. A step decides once for each group (decide_all()) and sets the flags
// of tensors only where a group's answer changes. Names are added, and put into collections, under
// the mutex by any training thread; saves read flags and decisions without it. If memory runs out,
// a name is as it was before the call.

#include "tensor_groups.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cupel/core/mutex.h"
#include "cupel/format/layout.h"

namespace cupel::writer_detail {
namespace {

std::span<const std::string> tags_of(const NamedTensor& tensor) noexcept {
  const auto* tags = tensor.tags.load(std::memory_order_acquire);
  return tags == nullptr ? std::span<const std::string>() : std::span(*tags);
}

// Beside its name, in a collections file.
constexpr std::uint64_t kCollectionBytes = 160;

// Of a name in a collections file, at most.
std::uint64_t text_bytes(std::string_view name) noexcept {
  std::uint64_t bytes = 3;  // quotes and a comma
  for (const char c : name) bytes += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? 1 : 6;
  return bytes;
}

bool is_configured(const Collection& collection) noexcept {
  return !collection.include_regex().empty() || !collection.tensor_names().empty() ||
         collection.save_config() || collection.reduction_config() || !collection.save_histogram();
}

}  // namespace

TensorGroups::TensorGroups(Collections collections, Decide decide)
    : decide_(std::move(decide)), collections_(std::move(collections)), never_(group_of({})) {}

NamedTensor* TensorGroups::find_or_add(std::string_view name) {
  return table_.find_or_add(name, [this](NamedTensor& added) {
    const MutexLock lock(mutex_);
    take_listed(added);
    place(added, nullptr);
  });
}

bool TensorGroups::is_in_any(const NamedTensor& tensor,
                             std::span<const std::string_view> collections) {
  const MutexLock lock(mutex_);
  const std::span<const std::string> tags = tags_of(tensor);
  return std::ranges::any_of(collections, [&](std::string_view name) {
    if (std::ranges::find(tags, name) != tags.end()) return true;
    const auto found = collections_.find(name);
    return found != collections_.end() && found->second.contains(tensor.name);
  });
}

bool TensorGroups::join(NamedTensor& tensor, const CollectionNames& names) {
  const auto is_known = [tags = tags_of(tensor)](std::string_view name) {
    return std::ranges::find(tags, name) != tags.end();
  };
  if (std::ranges::all_of(names.names(), is_known)) return true;
  const MutexLock lock(mutex_);
  const auto added = std::ranges::count_if(
      names.names(), [&](std::string_view name) { return !collections_.contains(name); });
  if (added > 0 && collections_.size() + static_cast<std::size_t>(added) > kMostCollections)
    return false;
  const auto known = tags_of(tensor);
  std::vector<std::string> tags(known.begin(), known.end());
  for (const std::string_view name : names.names()) {
    if (std::ranges::find(tags, name) != tags.end()) continue;
    tags.emplace_back(name);
    if (!collections_.contains(name)) collections_.emplace(name, std::string(name));
    joinings_.push_back({&tensor, &*joined_.emplace(name).first});
  }
  set_tags(tensor, std::move(tags));
  place(tensor, tensor.group.load(std::memory_order_relaxed));
  return true;
}

void TensorGroups::set_tags(NamedTensor& tensor, std::vector<std::string> tags) {
  tag_lists_.push_back(std::make_unique<const std::vector<std::string>>(std::move(tags)));
  tensor.tags.store(tag_lists_.back().get(), std::memory_order_release);
}

void TensorGroups::take_listed(NamedTensor& tensor) {
  const auto listed = listed_.find(tensor.name);
  if (listed == listed_.end()) return;
  const auto known = tags_of(tensor);
  std::vector<std::string> tags(known.begin(), known.end());
  for (const std::string& name : listed->second)
    if (std::ranges::find(tags, name) == tags.end()) tags.push_back(name);
  set_tags(tensor, std::move(tags));
}

bool TensorGroups::is_joined(std::string_view collection) const {
  const MutexLock lock(mutex_);
  return joined_.contains(collection);
}

// The tensor leaves its old group last: until it is in the new one, anything may fail.
void TensorGroups::place(NamedTensor& tensor, const Group* before) {
  Group* const group =
      plan_ == nullptr ? never_ : group_of(plan_->membership(tensor.name, tags_of(tensor)));
  if (group == before) return;
  group->tensors.push_back(&tensor);
  if (before != nullptr) {
    auto& others = groups_.find(before->members)->second->tensors;
    // It is among the last where a call names it and puts it into a collection at once.
    others.erase(std::prev(std::find(others.rbegin(), others.rend(), &tensor).base()));
  }
  tensor.group.store(group, std::memory_order_release);
  tensor.set(group->answer);
}

Group* TensorGroups::group_of(const Membership& members) {
  const auto known = groups_.find(members);
  if (known != groups_.end()) return known->second.get();
  auto group = std::make_unique<Group>();
  group->members = members;
  if (plan_ != nullptr) group->now = decide_(members);
  group->answer = group->now.any() ? DueFlag::Answer::Yes : DueFlag::Answer::No;
  return groups_.emplace(members, std::move(group)).first->second.get();
}

void TensorGroups::answer(Group& group, DueFlag::Answer answer) noexcept {
  if (std::exchange(group.answer, answer) == answer) return;
  for (NamedTensor* const tensor : group.tensors) tensor->set(answer);
}

void TensorGroups::follow(const SavePlan& plan) {
  const MutexLock lock(mutex_);
  plan_ = &plan;
  for (const auto& [name, collection] : collections_)
    for (const std::string& tensor : collection.tensor_names()) listed_[tensor].push_back(name);
  for (NamedTensor* const tensor : std::exchange(never_->tensors, {})) {
    take_listed(*tensor);
    place(*tensor, nullptr);
  }
}

void TensorGroups::decide_all() {
  const MutexLock lock(mutex_);
  for (auto& [members, group] : groups_) {
    group->now = decide_(members);
    answer(*group, group->now.any() ? DueFlag::Answer::Yes : DueFlag::Answer::No);
  }
}

void TensorGroups::end_step() noexcept {
  const MutexLock lock(mutex_);
  for (auto& [members, group] : groups_)
    if (group->answer == DueFlag::Answer::Yes) answer(*group, DueFlag::Answer::TooLate);
}

void TensorGroups::nothing_is_due() noexcept {
  const MutexLock lock(mutex_);
  for (auto& [members, group] : groups_) answer(*group, DueFlag::Answer::No);
}

std::vector<std::string> TensorGroups::never_saved() const {
  std::vector<std::string> names;
  table_.for_each([&](const NamedTensor& tensor) {
    if (tensor.group == never_ && !tensor.saved && !is_reserved_tensor(tensor.name))
      names.push_back(tensor.name);
  });
  std::ranges::sort(names);
  return names;
}

Collections TensorGroups::without_joinings() const {
  const MutexLock lock(mutex_);
  return collections_;
}

Collections TensorGroups::now() const {
  std::vector<const NamedTensor*> tensors;
  table_.for_each([&](const NamedTensor& tensor) {
    if (!is_reserved_tensor(tensor.name)) tensors.push_back(&tensor);
  });
  // Patterns take long, and nobody waits for them: tensors and their lists of tags stay.
  Collections now = without_joinings();
  for (const NamedTensor* const tensor : tensors) {
    const std::span<const std::string> tags = tags_of(*tensor);
    for (auto& [name, collection] : now)
      if (std::ranges::find(tags, name) != tags.end() ||
          collection.include_regex().matches(tensor->name))
        collection.add_tensor_name(tensor->name);
  }
  return now;
}

// Without those that nothing but a call has made.
Collections TensorGroups::configured() const {
  const MutexLock lock(mutex_);
  Collections configured;
  for (const auto& [name, collection] : collections_)
    if (!joined_.contains(name) || is_configured(collection))
      configured.emplace_hint(configured.end(), name, collection);
  return configured;
}

std::int64_t TensorGroups::add_joined(Collections& to, std::uint64_t most_bytes) const {
  const MutexLock lock(mutex_);
  std::int64_t left_out = 0;
  for (const Joining& joining : joinings_) {
    const std::string& name = joining.tensor->name;
    auto collection = to.find(*joining.collection);
    if (collection != to.end() && collection->second.include_regex().matches(name)) continue;
    const std::uint64_t bytes =
        text_bytes(name) +
        (collection == to.end() ? kCollectionBytes + 2 * text_bytes(*joining.collection) : 0);
    if (bytes > most_bytes) {
      ++left_out;
      continue;
    }
    most_bytes -= bytes;
    if (collection == to.end())
      collection = to.emplace(*joining.collection, *joining.collection).first;
    collection->second.add_tensor_name(name);
  }
  return left_out;
}

}  // namespace cupel::writer_detail
