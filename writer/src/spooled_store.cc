#include "cupel/writer/spooled_store.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"

namespace cupel {
namespace {

using Clock = std::chrono::steady_clock;

// Steps of up to this part of the room need not wait for it once they were let in.
constexpr std::uint64_t kPartKeptFree = 16;

constexpr auto kLook = std::chrono::milliseconds(50);

// Whether segments that `ours` speaks of belong to the run that `theirs` speaks of. Workers that
// begin together may each name the run, and agree when they begin again.
bool is_same_run(const CollectionsFile& ours, const CollectionsFile& theirs) {
  return ours.run == theirs.run || (ours.num_workers > 1 && theirs.attempt < ours.attempt);
}

}  // namespace

SpooledStore::SpooledStore(std::shared_ptr<Store> remote, Spool spool, SpoolOptions options,
                           bool replaced)
    : remote_(std::move(remote)),
      spool_(std::move(spool)),
      run_(spool_.shared_run()),
      options_(std::move(options)) {
  seal_left();
  settle_with_remote(replaced);
  std::uint64_t bytes = 0;
  for (const ObjectInfo& info : run().list("")) bytes += info.size;
  count(bytes, 0);
}

SpooledStore::~SpooledStore() {
  if (uploader_ || is_closed_) return;
  try {
    if (spool_.is_empty()) spool_.remove(options_.stays);  // it was opened for nothing
  } catch (const StoreError&) {                            // it is found again
  }
}

// Seals what an earlier process left open, unless the disk has no room for that.
void SpooledStore::seal_left() {
  SealReport report;
  no_room_.reset();
  try {
    seal_worker(run(), spool_.destination().worker, report, [this](const SegmentName& name) {
      return remote_->stat(name.index_key()).has_value();
    });
  } catch (const StoreFull& full) {
    no_room_ = full;
  }
  tell_damage(report);
  sealing_.sealed += report.sealed;
  sealing_.removed += report.removed;
  sealing_.damaged = std::move(report.damaged);
  for (std::string& text : report.dropped) {
    if (std::ranges::find(sealing_.dropped, text) != sealing_.dropped.end()) continue;
    log(LogLevel::Info, "left in " + spool_.directory() + ": " + text);
    sealing_.dropped.push_back(std::move(text));
  }
}

void SpooledStore::add_problem(std::string text) {
  if (std::ranges::find(problems_, text) == problems_.end()) problems_.push_back(std::move(text));
}

void SpooledStore::tell_damage(const SealReport& report) {
  for (const std::string& text : report.damaged)
    add_problem("damaged, and not uploaded from " + spool_.directory() + ": " + text);
}

// The worker's attempts are counted on behind the newest that either knows.
void SpooledStore::settle_with_remote(bool replaced) {
  const std::string key = collections_key(spool_.destination().worker);
  const auto ours = run().get(key, format_limits().collections_file);
  if (!ours) return;
  const CollectionsFile file = decode_collections_file(key, *ours);
  const auto theirs = remote_->get(key, format_limits().collections_file);
  if (!theirs) return;
  const CollectionsFile there = decode_collections_file(key, *theirs);
  if (!is_same_run(file, there)) return discard_for_another_run(file.run, replaced);
  if (there.attempt > file.attempt) newer_collections_ = theirs;
}

void SpooledStore::discard_for_another_run(const std::string& run_name, bool replaced) {
  if (replaced) return;
  const std::string place = spool_.set_aside("of-" + run_name);
  problems_.push_back(location() + " holds another run by now: what was left of run " + run_name +
                      " is in " + place);
}

void SpooledStore::begin(const std::function<bool()>& goes_on) {
  UploadOptions upload = options_.upload;
  upload.on_removed = [this](std::uint64_t bytes) {
    --segments_waiting_;
    count(0, bytes);
  };
  const std::string& worker = spool_.destination().worker;
  uploader_ = std::make_unique<Uploader>(run_, remote_, worker, std::move(upload));
  if (!newer_collections_ && run().stat(collections_key(worker))) uploader_->collections_changed();
  const std::size_t added = add_left();
  if (added > 0)
    log(LogLevel::Info, "what an earlier process left in " + spool_.directory() +
                            " is uploaded first: " + std::to_string(added) + " segments");
  if (!no_room_) return;
  while (segments_waiting_ > 0) {
    if (goes_on ? !goes_on() : !uploader_->progress().trouble.empty()) throw StoreFull(*no_room_);
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kLook);
  }
  seal_left();
  if (no_room_) throw StoreFull(*no_room_);
  add_left();
}

// Adds what is sealed, of each attempt what lies before the first segment that is not: what comes
// to the store is never to be found before what was there.
std::size_t SpooledStore::add_left() {
  const std::string& worker = spool_.destination().worker;
  SealReport report;
  const std::vector<SegmentName> sealed = sealed_segments(run(), worker, report);
  tell_damage(report);
  std::map<std::int32_t, SegmentName> gaps;  // the first of each attempt
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    for (const ObjectInfo& info : run().list(prefix)) {
      const auto name = segment_of(info.key);
      if (!name || name->worker != worker || std::ranges::binary_search(sealed, *name)) continue;
      SegmentName& first = gaps.try_emplace(name->attempt, *name).first->second;
      first = std::min(first, *name);
    }
  }
  has_gaps_ = !gaps.empty();
  std::size_t added = 0;
  for (const SegmentName& name : sealed) {
    const auto gap = gaps.find(name.attempt);
    if (gap != gaps.end() && gap->second < name) continue;
    ++added;
    ++segments_waiting_;
    uploader_->add(name, Uploader::Origin::LeftBehind);
  }
  if (added < sealed.size())
    add_problem("kept back in " + spool_.directory() + ", for what is damaged lies before: " +
                std::to_string(sealed.size() - added) + " segments");
  return added;
}

void SpooledStore::finish() {
  const std::string key = collections_key(spool_.destination().worker);
  const auto bytes = run().get(key, format_limits().collections_file);
  // Without the file nobody can tell whose end it is.
  const std::int64_t workers = bytes ? decode_collections_file(key, *bytes).num_workers : 1;
  const MutexLock lock(mutex_);
  says_end_ = bytes && has_end() && open_indexes_.empty() && !has_gaps_;
  uploader_->finish(says_end_ ? Uploader::Ending::Ended : Uploader::Ending::Left, workers);
}

bool SpooledStore::has_end() const {
  if (newer_collections_) return false;  // that attempt has an end of its own
  return run().stat(kEndMarker) || run().stat(ended_key(spool_.destination().worker));
}

bool SpooledStore::is_ending() {
  const MutexLock lock(mutex_);
  return waits_until_.has_value();
}

bool SpooledStore::wait_until_uploaded(Clock::time_point until) {
  return uploader_->wait_until_finished(until);
}

NotUploaded SpooledStore::close() {
  const bool all = uploader_->wait_until_finished(Clock::now());
  const std::string why = uploader_->progress().trouble;
  if (!all && options_.interrupts_remote) remote_->interrupt();
  uploader_.reset();
  is_closed_ = true;
  NotUploaded left = what_is_left();
  left.end = left.end && !(all && says_end_);
  if (all && left.bytes == 0 && !left.end) {
    spool_.remove(options_.stays);
    return {};
  }
  left.why = why;
  left.directory = spool_.directory();
  return left;
}

NotUploaded SpooledStore::what_is_left() {
  NotUploaded left;
  for (const ObjectInfo& info : run().list("")) {
    if (!segment_of(info.key)) continue;
    left.bytes += info.size;
    if (info.key.starts_with(kIndexPrefix)) left.steps += committed_steps(run(), info.key);
  }
  left.end = has_end();
  return left;
}

void SpooledStore::halt() noexcept {
  if (uploader_) uploader_->halt();
}

std::optional<Clock::time_point> SpooledStore::waiting_since() const {
  return uploader_->waiting_since();
}

UploadProgress SpooledStore::progress() const { return uploader_->progress(); }

void SpooledStore::finish_segment(const SegmentName& name) {
  const auto size = [&] {
    const auto index = run().stat(name.index_key()), values = run().stat(name.events_key());
    return (index ? index->size : 0) + (values ? values->size : 0);
  };
  const std::uint64_t before = size();
  SealReport report;
  seal_segment(run(), name, report);
  count(size(), before);
  tell_damage(report);
  if (report.damaged.empty()) add_sealed(name);
}

void SpooledStore::add_sealed(const SegmentName& name) {
  {
    const MutexLock lock(mutex_);
    if (open_indexes_.erase(name.index_key()) == 0) return;  // it is under way already
  }
  ++segments_waiting_;
  uploader_->add(name);
}

bool SpooledStore::is_short_of(std::uint64_t bytes) const {
  return used_ + bytes > options_.bytes || run().free_bytes() < options_.disk_reserve + bytes;
}

void SpooledStore::count(std::uint64_t added, std::uint64_t removed) {
  const MutexLock lock(mutex_);
  used_ += added;
  used_ -= std::min(removed, used_);
  if (removed > 0) ++removals_;
  nearly_full_ = is_short_of(options_.bytes / kPartKeptFree);
  changed_.notify_all();
}

void SpooledStore::stop_waiting_at(Clock::time_point until) {
  const MutexLock lock(mutex_);
  waits_until_ = until;
  changed_.notify_all();
}

// Waits until the condition, which is asked under the mutex, holds; false when there is no more
// waiting.
template <class Condition>
bool SpooledStore::await(Condition&& condition) {
  MutexLock lock(mutex_);
  while (!condition()) {
    if (!waits_until_) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, *waits_until_) == std::cv_status::timeout) {
      return condition();
    }
  }
  return true;
}

template <class Write>
void SpooledStore::write(std::uint64_t bytes, bool may_wait, Write&& write_it) {
  // The segment that is being written makes no room.
  if (may_wait)
    await([&]() CUPEL_REQUIRES(mutex_) { return segments_waiting_ == 0 || !is_short_of(bytes); });
  for (;;) {
    const std::uint64_t removals = removals_;
    try {
      write_it();
      return count(bytes, 0);
    } catch (const StoreFull&) {
      const auto has_news = [&] { return segments_waiting_ == 0 || removals_ != removals; };
      if (!may_wait || !await(has_news) || removals_ == removals) throw;
    }
  }
}

void SpooledStore::put(std::string_view key, std::span<const std::byte> bytes,
                       Durability durability) {
  const auto name = SegmentName::parse_index_key(key);
  const auto replaced = run().stat(key);
  const bool may_wait = name.has_value() || is_ending();
  write(bytes.size(), may_wait, [&] { run().put(key, bytes, durability); });
  if (replaced) count(0, replaced->size);
  if (key == collections_key(spool_.destination().worker)) {
    newer_collections_.reset();
    uploader_->collections_changed();
  }
  if (!name) return;
  if (durability == Durability::Durable) run().sync(key);  // with the folders it lies in
  add_sealed(*name);
}

void SpooledStore::append(std::string_view key, std::uint64_t expected_size,
                          std::span<const std::span<const std::byte>> pieces) {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  if (expected_size == 0 && key.starts_with(kIndexPrefix)) {
    const MutexLock lock(mutex_);
    open_indexes_.emplace(key);
  }
  write(bytes, true, [&] { run().append(key, expected_size, pieces); });
}

void SpooledStore::sync(std::string_view key) {
  try {
    run().sync(key);
  } catch (const StoreError&) {
    if (run().stat(key)) throw;  // else it was uploaded, and removed
  }
}

std::optional<std::vector<std::byte>> SpooledStore::get(std::string_view key,
                                                        std::uint64_t at_most) const {
  if (!uploader_ && newer_collections_ && key == collections_key(spool_.destination().worker))
    return newer_collections_;
  auto bytes = run().get(key, at_most);
  return bytes || uploader_ ? std::move(bytes) : remote_->get(key, at_most);
}

std::size_t SpooledStore::get_range(std::string_view key, std::uint64_t offset,
                                    std::span<std::byte> out) const {
  const bool is_here = uploader_ || run().stat(key);
  return is_here ? run().get_range(key, offset, out) : remote_->get_range(key, offset, out);
}

std::vector<ObjectInfo> SpooledStore::list(std::string_view prefix, std::string_view after) const {
  std::vector<ObjectInfo> here = run().list(prefix, after);
  if (uploader_) return here;
  std::vector<ObjectInfo> there = remote_->list(prefix, after);
  std::erase_if(there, [&](const ObjectInfo& info) {
    return std::ranges::binary_search(here, info.key, {}, &ObjectInfo::key);
  });
  std::vector<ObjectInfo> all;
  std::ranges::merge(here, there, std::back_inserter(all), {}, &ObjectInfo::key, &ObjectInfo::key);
  return all;
}

std::optional<ObjectInfo> SpooledStore::stat(std::string_view key) const {
  auto info = run().stat(key);
  return info || uploader_ ? std::move(info) : remote_->stat(key);
}

// Here first: what is left there alone is a run as any other.
void SpooledStore::remove(std::string_view key) {
  const auto info = run().stat(key);
  run().remove(key);
  if (info) count(0, info->size);
  {
    const MutexLock lock(mutex_);
    if (const auto open = open_indexes_.find(key); open != open_indexes_.end())
      open_indexes_.erase(open);
  }
  if (!uploader_) remote_->remove(key);
}

std::unique_ptr<Watch> SpooledStore::watch(std::string_view prefix) const {
  return run().watch(prefix);
}

}  // namespace cupel
