// Reading the index of a run in cupel's own format, by the refreshing thread.
//
// The order of a poll is what makes it right. The end marker is asked for before everything else,
// because whatever was committed before the marker was written is listed after it was seen. The
// ended workers come before the index files for the same reason. The collections files come last:
// a writer replaces its collections file before it commits the first step that needs the new one.
//
// Damage in index files is kept back until the collections files have been read, since they show
// when the run was removed or replaced: then that is reported in place of all other damage. When
// the store fails in the middle, complete_after_failure() reads the collections files, so that the
// steps read so far can be published.

#include "cupel_index_source.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/format/layout.h"

namespace cupel::trial_detail {

namespace {

std::unique_ptr<RunPoll> make_poll(const Store& store, std::shared_ptr<const TrialClock> clock,
                                   const PollingOptions& options) {
  if (store.can_append()) return std::make_unique<FullPoll>(store);
  return std::make_unique<ListingPoll>(store, std::move(clock), options.full_interval);
}

}  // namespace

CupelIndexSource::CupelIndexSource(const Store& store, std::shared_ptr<const TrialClock> clock,
                                   const TrialOptions& options)
    : store_(store),
      clock_(std::move(clock)),
      poll_(make_poll(store_, clock_, options.polling)),
      builder_(state_, *data(), *clock_, options.range_steps),
      follower_(store_, *poll_, builder_, state_,
                static_cast<std::size_t>(options.polling.requests_at_once)) {}

bool CupelIndexSource::has_ended() const { return store_.stat(kEndMarker).has_value(); }

LockState CupelIndexSource::writer_lock(std::string_view worker) const {
  return store_.lock_state(lock_name(worker));
}

bool CupelIndexSource::find_run() {
  state_.collections = RunCollections::read(store_);
  collections_are_new_ = !state_.collections->files().empty();
  return collections_are_new_;
}

bool CupelIndexSource::begin_poll() {
  const RunCollections& collections = *state_.collections;
  const auto workers = std::max<std::int64_t>(
      collections.num_workers(), static_cast<std::int64_t>(collections.files().size()));
  const RunPoll::Begin begun =
      poll_->begin(follower_.listing_begins(), static_cast<std::size_t>(workers));
  full_poll_ = begun.full;
  ended_workers_.clear();
  for (std::string& worker : poll_->ended_workers()) ended_workers_.insert(std::move(worker));
  return begun.ended;
}

bool CupelIndexSource::read_news(bool ended, const Progress& progress) {
  // All attempts must be known before the last segments are judged.
  if (ended) read_collections();
  if (state_.replaced) return false;
  // Where every request costs, a poll does not read collections files that were just read.
  const bool were_read = !store_.can_append() && (ended || collections_are_new_);
  needs_collections_ = needs_collections_ || (full_poll_ && !were_read);
  const bool news = follower_.follow(ended, *state_.collections, progress);
  if (needs_collections_ || follower_.needs_collections()) read_collections();
  collections_are_new_ = false;
  state_.ended_workers = ended_workers_;
  return news;
}

bool CupelIndexSource::complete_after_failure() {
  try {
    if (needs_collections_ || follower_.needs_collections()) read_collections();
    return true;
  } catch (const StoreError&) {  // The next poll publishes the steps.
    return false;
  }
}

void CupelIndexSource::read_collections() {
  if (state_.loss) return;
  RunCollections::News found = state_.collections->read_changes(store_);
  add_damage(found);
  if (found.changed) state_.collections = std::move(found.changed);
  needs_collections_ = false;
  follower_.collections_were_read();
}

/// Adds new damage to the state; if the run was lost, that alone.
void CupelIndexSource::add_damage(RunCollections::News& found) {
  std::vector<FormatError>& damage = state_.damage;
  if (found.loss) {
    state_.loss = found.loss;
    state_.replaced = found.replaced;
    damage.push_back(*std::move(found.loss));
    return;
  }
  const std::vector<FormatError>& followed = follower_.damage();
  while (damage_copied_ < followed.size()) damage.push_back(followed[damage_copied_++]);
  for (FormatError& error : found.damage) {
    const std::string_view text = error.what();
    const auto is_it = [text](const FormatError& known) { return text == known.what(); };
    if (std::ranges::none_of(damage, is_it)) damage.push_back(std::move(error));
  }
}

}  // namespace cupel::trial_detail
