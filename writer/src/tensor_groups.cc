#include "tensor_groups.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cupel/core/mutex.h"

namespace cupel {
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

TensorGroups::TensorGroups(Collections& collections, Decide decide)
    : collections_(collections), decide_(std::move(decide)), never_(group_of({})) {}

NamedTensor* TensorGroups::find_or_add(std::string_view name) {
  return table_.find_or_add(name, [this](NamedTensor& added) {
    const MutexLock lock(mutex_);
    take_listed(added);
    place(added);
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
  place(tensor);
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
  const MutexLock lock(mutex_);
  plan_ = &plan;
  for (const auto& [name, collection] : collections_)
    for (const std::string& tensor : collection.tensor_names()) listed_[tensor].push_back(name);
  for (NamedTensor& tensor : table_.tensors()) {
    take_listed(tensor);
    place(tensor);
  }
}

void TensorGroups::decide_all() {
  const MutexLock lock(mutex_);
  for (auto& [members, group] : groups_) {
    group->now = decide_(members);
    group->due.store(group->now.any(), std::memory_order_relaxed);
  }
}

void TensorGroups::nothing_is_due() noexcept {
  const MutexLock lock(mutex_);
  for (auto& [members, group] : groups_) group->due.store(false, std::memory_order_relaxed);
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

}  // namespace cupel
