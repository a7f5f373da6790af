// Names of tensors and the layouts of steps.
//
// The refreshing thread adds names and layouts; other threads find names under a shared lock, and
// read layouts without one, since a layout never changes or moves. The texts by which layouts are
// found are limited in number, and dropped when there are too many: then a layout may be made
// twice, which costs memory only.

#include "names.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "cupel/core/mutex.h"
#include "cupel/format/layout.h"

namespace cupel::trial_detail {

namespace {

// A run in which every step has other names must not keep the texts of all layouts.
constexpr std::size_t kMaxEntries = 1024;

}  // namespace

std::uint32_t NameTable::intern(std::string_view name) {
  // Only this thread inserts, so it needs no lock to search.
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(names_.size());
  const std::string& stored = names_.push_back(std::string(name));
  const WriterLock lock(mutex_);
  ids_.emplace(stored, id);
  return id;
}

std::optional<std::uint32_t> NameTable::find(std::string_view name) const {
  const ReaderLock lock(mutex_);
  const auto found = ids_.find(name);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

NameLayout::NameLayout(std::vector<std::uint32_t> ids, const NameTable& names)
    : ids_(std::move(ids)) {
  const auto reserved = [&](std::uint32_t id) { return is_reserved_tensor(names[id]); };
  const auto begin = std::find_if(ids_.begin(), ids_.end(), reserved);
  reserved_begin_ = static_cast<std::size_t>(begin - ids_.begin());
  reserved_end_ =
      static_cast<std::size_t>(std::find_if_not(begin, ids_.end(), reserved) - ids_.begin());
  if (ids_.empty()) return;
  const auto [least, greatest] = std::minmax_element(ids_.begin(), ids_.end());
  const std::size_t span = std::size_t{*greatest} - *least + 1;
  if (span <= 4 * ids_.size() + 16) {
    base_ = *least;
    dense_.assign(span, kAbsent);
    for (std::size_t i = 0; i < ids_.size(); ++i)
      dense_[ids_[i] - base_] = static_cast<std::uint32_t>(i);
    return;
  }
  pairs_.reserve(ids_.size());
  for (std::size_t i = 0; i < ids_.size(); ++i)
    pairs_.emplace_back(ids_[i], static_cast<std::uint32_t>(i));
  std::sort(pairs_.begin(), pairs_.end());
}

std::uint32_t NameLayout::search(std::uint32_t id) const noexcept {
  const auto found =
      std::lower_bound(pairs_.begin(), pairs_.end(), id,
                       [](const auto& pair, std::uint32_t key) { return pair.first < key; });
  return found != pairs_.end() && found->first == id ? found->second : kAbsent;
}

bool LayoutInterner::Entry::matches(const IndexBatch& batch, std::size_t first,
                                    std::size_t last) const noexcept {
  const std::int32_t begin = batch.tensor_offsets[first];
  const auto bytes = static_cast<std::size_t>(batch.tensor_offsets[last] - begin);
  if (last - first != ends.size() || bytes != text.size()) return false;
  if (std::memcmp(batch.tensor_bytes + begin, text.data(), bytes) != 0) return false;
  std::int32_t differences = 0;
  for (std::size_t i = 0; i < ends.size(); ++i)
    differences |= (batch.tensor_offsets[first + i + 1] - begin) ^ ends[i];
  return differences == 0;
}

const NameLayout* LayoutInterner::intern(const IndexBatch& batch, std::size_t first,
                                         std::size_t last, std::shared_ptr<const Entry>& hint) {
  if (hint && hint->matches(batch, first, last)) return hint->layout;
  const std::int32_t begin = batch.tensor_offsets[first];
  const std::string_view text(batch.tensor_bytes + begin,
                              static_cast<std::size_t>(batch.tensor_offsets[last] - begin));
  const std::size_t hash = std::hash<std::string_view>{}(text);
  for (auto [entry, end] = entries_.equal_range(hash); entry != end; ++entry) {
    if (!entry->second->matches(batch, first, last)) continue;
    hint = entry->second;
    return hint->layout;
  }
  auto entry = std::make_shared<Entry>();
  entry->text = text;
  entry->layout = &make(batch, first, last);
  entry->ends.reserve(last - first);
  for (std::size_t row = first; row < last; ++row)
    entry->ends.push_back(batch.tensor_offsets[row + 1] - begin);
  if (entries_.size() >= kMaxEntries) entries_.clear();
  entries_.emplace(hash, entry);
  hint = std::move(entry);
  return hint->layout;
}

const NameLayout& LayoutInterner::make(const IndexBatch& batch, std::size_t first,
                                       std::size_t last) {
  std::vector<std::uint32_t> ids;
  ids.reserve(last - first);
  for (std::size_t row = first; row < last; ++row) ids.push_back(names_.intern(batch.tensor(row)));
  return layouts_.emplace_back(std::move(ids), names_);
}

}  // namespace cupel::trial_detail
