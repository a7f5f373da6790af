// Polling the files of a run, by the refreshing thread.
//
// Exceptions of the store pass through, and the next poll begins anew. Only one thing is kept of a
// poll that failed: that the end marker was seen.

#include "run_poll.h"

#include <algorithm>
#include <utility>

#include "cupel/format/layout.h"

namespace cupel::trial_detail {

namespace {

// A listing goes back so many known index files for workers that are behind; together with as many
// new ones that is one page of a listing in S3.
constexpr std::size_t kMostKnown = 500;
// A listing may hold so many objects that are not of the run before the index is listed alone.
constexpr std::size_t kMostForeign = 500;

std::vector<std::string> list_ended_workers(const Store& store) {
  std::vector<std::string> workers;
  for (const ObjectInfo& info : store.list(kEndedPrefix))
    workers.push_back(info.key.substr(kEndedPrefix.size()));
  return workers;
}

}  // namespace

RunPoll::Begin FullPoll::begin(std::span<const std::string> after, std::size_t expected_workers) {
  const bool knows_all = !after.empty() && after.size() >= expected_workers;
  after_ = knows_all ? *std::ranges::min_element(after) : std::string();
  return {.ended = store_.stat(kEndMarker).has_value(), .full = true};
}

std::vector<std::string> FullPoll::ended_workers() { return list_ended_workers(store_); }

std::vector<ObjectInfo> FullPoll::index_files() { return store_.list(kIndexPrefix, after_); }

std::optional<ObjectInfo> FullPoll::index_file(const ObjectInfo& last) {
  return store_.stat(last.key);
}

ListingPoll::ListingPoll(const Store& store, std::shared_ptr<const TrialClock> clock,
                         std::chrono::milliseconds full_interval)
    : store_(store), clock_(std::move(clock)), full_interval_(full_interval) {}

RunPoll::Begin ListingPoll::begin(std::span<const std::string> after,
                                  std::size_t expected_workers) {
  const TrialClock::Time now = clock_->now();
  // If the marker is there, one listing suffices: it is made after the end of the run.
  if ((!last_full_ || crowded_) && !ended_) ended_ = store_.stat(kEndMarker).has_value();
  bool full = !last_full_ || now - *last_full_ >= full_interval_;
  if (!ended_ && !full) list_new(after, expected_workers);
  full = full || ended_;
  if (full) list_all(expected_workers);
  if (full) last_full_ = now;
  return {.ended = ended_, .full = full};
}

void ListingPoll::list_new(std::span<const std::string> after, std::size_t expected_workers) {
  list(crowded_ ? kIndexPrefix : std::string_view(), listing_begin(after, expected_workers));
}

void ListingPoll::list_all(std::size_t expected_workers) {
  if (expected_workers > 1) ended_workers_ = list_ended_workers(store_);
  if (!ended_) list(crowded_ ? kIndexPrefix : std::string_view(), std::string(kIndexPrefix));
  if (ended_) list(kIndexPrefix, {});
  const std::size_t count = listed_.size();
  recent_begin_ = count > kMostKnown ? listed_[count - kMostKnown - 1].key : std::string();
}

/// The least of the keys. Workers that are so far behind that most of the listing would be known
/// are left out: the next full poll finds their files.
std::string ListingPoll::listing_begin(std::span<const std::string> after,
                                       std::size_t expected_workers) const {
  const std::string first = std::max(recent_begin_, std::string(kIndexPrefix));
  if (after.size() < expected_workers) return first;
  std::optional<std::string> least;
  for (const std::string& key : after)
    if (key >= first && (!least || key < *least)) least = key;
  return least.value_or(first);
}

void ListingPoll::list(std::string_view prefix, std::string after) {
  std::vector<ObjectInfo> found = store_.list(prefix, after);
  ended_ = ended_ || std::ranges::any_of(
                         found, [](const ObjectInfo& info) { return info.key == kEndMarker; });
  const auto is_foreign = [](const ObjectInfo& info) {
    return !info.key.starts_with(kIndexPrefix);
  };
  crowded_ = crowded_ || std::erase_if(found, is_foreign) > kMostForeign;
  listed_ = std::move(found);
  after_ = std::move(after);
}

std::optional<ObjectInfo> ListingPoll::index_file(const ObjectInfo& last) {
  if (last.key <= after_) return last;
  const auto found = std::ranges::lower_bound(listed_, last.key, {}, &ObjectInfo::key);
  if (found == listed_.end() || found->key != last.key) return std::nullopt;
  return *found;
}

std::optional<std::vector<ObjectInfo>> ListingPoll::list_again(const std::string& after) {
  list(kIndexPrefix, after);
  return listed_;
}

}  // namespace cupel::trial_detail
