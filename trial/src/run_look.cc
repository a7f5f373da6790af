#include "run_look.h"

#include <algorithm>
#include <utility>

#include "cupel/format/layout.h"

namespace cupel::trial_detail {

namespace {

// So many index files that are known are listed once more for the sake of workers that are behind;
// with as many new ones that is one page of S3's.
constexpr std::size_t kMostKnown = 500;
// So many objects that are none of the run's are passed over.
constexpr std::size_t kMostForeign = 500;

std::vector<std::string> list_ended_workers(const Store& store) {
  std::vector<std::string> workers;
  for (const ObjectInfo& info : store.list(kEndedPrefix))
    workers.push_back(info.key.substr(kEndedPrefix.size()));
  return workers;
}

}  // namespace

RunLook::Begin AskingLook::begin(std::span<const std::string> behind,
                                 std::size_t expected_workers) {
  const bool knows_all = !behind.empty() && behind.size() >= expected_workers;
  behind_ = knows_all ? *std::ranges::min_element(behind) : std::string();
  return {.ended = store_.stat(kEndMarker).has_value(), .whole = true};
}

std::vector<std::string> AskingLook::ended_workers() { return list_ended_workers(store_); }

std::vector<ObjectInfo> AskingLook::index_files() { return store_.list(kIndexPrefix, behind_); }

std::optional<ObjectInfo> AskingLook::index_file(const ObjectInfo& last) {
  return store_.stat(last.key);
}

ListingLook::ListingLook(const Store& store, std::shared_ptr<const TrialClock> clock,
                         std::chrono::milliseconds whole_each)
    : store_(store), clock_(std::move(clock)), whole_each_(whole_each) {}

RunLook::Begin ListingLook::begin(std::span<const std::string> behind,
                                  std::size_t expected_workers) {
  const TrialClock::Time now = clock_->now();
  // Then all that follows is listed after it was seen, and nothing has to be listed twice.
  if ((!last_whole_ || crowded_) && !ended_) ended_ = store_.stat(kEndMarker).has_value();
  bool whole = !last_whole_ || now - *last_whole_ >= whole_each_;
  if (!ended_ && !whole) look_at_news(behind, expected_workers);
  whole = whole || ended_;
  if (whole) look_at_all(expected_workers);
  if (whole) last_whole_ = now;
  return {.ended = ended_, .whole = whole};
}

void ListingLook::look_at_news(std::span<const std::string> behind, std::size_t expected_workers) {
  list(crowded_ ? kIndexPrefix : std::string_view(), listing_begin(behind, expected_workers));
}

void ListingLook::look_at_all(std::size_t expected_workers) {
  if (expected_workers > 1) ended_workers_ = list_ended_workers(store_);
  if (!ended_) list(crowded_ ? kIndexPrefix : std::string_view(), std::string(kIndexPrefix));
  if (ended_) list(kIndexPrefix, {});
  const std::size_t count = listed_.size();
  crowd_begin_ = count > kMostKnown ? listed_[count - kMostKnown - 1].key : std::string();
}

/// The least of the keys, but for those that are so far behind the newest that most of what is
/// listed would be known; these wait for a look at everything.
std::string ListingLook::listing_begin(std::span<const std::string> behind,
                                       std::size_t expected_workers) const {
  const std::string first = std::max(crowd_begin_, std::string(kIndexPrefix));
  if (behind.size() < expected_workers) return first;
  std::optional<std::string> least;
  for (const std::string& key : behind)
    if (key >= first && (!least || key < *least)) least = key;
  return least.value_or(first);
}

void ListingLook::list(std::string_view prefix, std::string after) {
  std::vector<ObjectInfo> found = store_.list(prefix, after);
  ended_ = ended_ || std::ranges::any_of(
                         found, [](const ObjectInfo& info) { return info.key == kEndMarker; });
  const auto is_foreign = [](const ObjectInfo& info) {
    return !info.key.starts_with(kIndexPrefix);
  };
  crowded_ = crowded_ || std::erase_if(found, is_foreign) > kMostForeign;
  listed_ = std::move(found);
  behind_ = std::move(after);
}

std::optional<ObjectInfo> ListingLook::index_file(const ObjectInfo& last) {
  if (last.key <= behind_) return last;
  const auto found = std::ranges::lower_bound(listed_, last.key, {}, &ObjectInfo::key);
  if (found == listed_.end() || found->key != last.key) return std::nullopt;
  return *found;
}

std::optional<std::vector<ObjectInfo>> ListingLook::list_again(const std::string& behind) {
  list(kIndexPrefix, behind);
  return listed_;
}

}  // namespace cupel::trial_detail
