// What happens when the spool or its disk is full. The spool is full when its files, with the bytes
// to be written, are larger than its bound, or would leave less of the disk free than the reserve.
//
//   * Before a write, the writer's thread waits as long as segments wait for their upload: each
//     upload removes files. It goes on when there is room, and also when nothing waits any more:
//     then no upload makes room, and the disk decides.
//   * Where the disk itself is full, the write fails by StoreFull. The thread waits for the next
//     removal and writes again. Without a segment to wait for, StoreFull passes: the writer loses
//     the steps that it has gathered and goes on with later ones (SegmentWriter). A run that is
//     written without a spool has no SpoolRoom: there StoreFull ends saving, as any StoreError
//     does.
//   * A spool with less than 1/16 of its bytes left is nearly full. Then the writer seals its
//     segment early, and the hook lets no step begin while segments wait (HookOptions::when_full).
//
// The bytes are counted, not read from the disk at each write: sealed segments by their files when
// they begin to wait, the growing files by the bytes that were written. Before a write waits, and
// before the spool counts as nearly full, the growing files are looked at. Where files or disk
// cannot be examined, the last answer counts: that costs no write and no upload.

#include "spool_room.h"

#include <algorithm>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"

namespace cupel::delivery_detail {
namespace {

constexpr std::uint64_t kPartKeptFree = 16;

}  // namespace

SpoolRoom::SpoolRoom(std::shared_ptr<const LocalStore> run, std::string collections_key,
                     std::uint64_t bytes, std::uint64_t disk_reserve)
    : run_(std::move(run)),
      collections_key_(std::move(collections_key)),
      most_bytes_(bytes),
      disk_reserve_(disk_reserve) {}

std::uint64_t SpoolRoom::size_of(const std::string& key) const {
  const auto info = run_->stat(key);
  return info ? info->size : 0;
}

std::uint64_t SpoolRoom::size_of(const SegmentName& segment) const {
  return size_of(segment.index_key()) + size_of(segment.events_key());
}

std::uint64_t SpoolRoom::size_of_growing_files() const {
  std::uint64_t bytes = size_of(collections_key_);
  for (const SegmentName& segment : open_) bytes += size_of(segment);
  return bytes;
}

void SpoolRoom::count_files() {
  std::uint64_t bytes = 0;
  for (const ObjectInfo& info : run_->list("")) bytes += info.size;
  const MutexLock lock(mutex_);
  growing_bytes_ = size_of(collections_key_);
  other_bytes_ = bytes - std::min(growing_bytes_, bytes);
  room_changed();
}

void SpoolRoom::opened(const SegmentName& segment) {
  const MutexLock lock(mutex_);
  // The files of a segment whose only step was given up are gone.
  std::erase_if(open_, [&](const SegmentName& name) { return size_of(name) == 0; });
  open_.insert(segment);
}

bool SpoolRoom::closed(const SegmentName& segment) {
  const MutexLock lock(mutex_);
  if (!open_.contains(segment)) return false;
  const std::uint64_t bytes = size_of(segment), growing = size_of_growing_files();
  open_.erase(segment);
  other_bytes_ += bytes;
  growing_bytes_ = growing - std::min(bytes, growing);
  room_changed();
  return true;
}

void SpoolRoom::waits(const SegmentName& segment) {
  const MutexLock lock(mutex_);
  const std::uint64_t bytes = size_of(segment);
  other_bytes_ -= std::min(bytes, other_bytes_);
  waiting_bytes_ += bytes;
  ++segments_waiting_;
}

void SpoolRoom::removed(std::uint64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  waiting_bytes_ -= std::min(bytes, waiting_bytes_);
  --segments_waiting_;
  ++removals_;
  room_changed();
}

void SpoolRoom::collections_changed() {
  const MutexLock lock(mutex_);
  growing_bytes_ = size_of_growing_files();
  room_changed();
}

bool SpoolRoom::has_open_index() const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(open_, [&](const SegmentName& name) {
    try {
      return run_->stat(name.index_key()).has_value();
    } catch (const StoreError&) {
      return true;
    }
  });
}

bool SpoolRoom::has_room_for(std::uint64_t bytes) {
  const auto has_bytes = [&]() CUPEL_REQUIRES(mutex_) {
    return waiting_bytes_ + growing_bytes_ + other_bytes_ + bytes <= most_bytes_;
  };
  if (!has_bytes()) growing_bytes_ = size_of_growing_files();
  return has_bytes() && run_->free_bytes() >= disk_reserve_ + bytes;
}

bool SpoolRoom::is_short_of(std::uint64_t bytes) noexcept {
  try {
    return !has_room_for(bytes);
  } catch (const std::exception& error) {
    log(LogLevel::Debug, error.what());
    return nearly_full_;
  }
}

void SpoolRoom::room_changed() noexcept {
  nearly_full_ = is_short_of(most_bytes_ / kPartKeptFree);
  changed_.notify_all();
}

// Waits until the condition, which is asked with the mutex held, is true; false when the time of
// stop_waiting_at() is over first.
template <class Condition>
bool SpoolRoom::wait_until(Condition&& condition) {
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

SpoolRoom::Room SpoolRoom::write(std::uint64_t bytes, const std::function<void()>& write_it) {
  wait_until([&]()
                 CUPEL_REQUIRES(mutex_) { return segments_waiting_ == 0 || !is_short_of(bytes); });
  for (bool is_written = false; !is_written;) {
    const std::uint64_t removals = removals_;
    try {
      write_it();
      is_written = true;
    } catch (const StoreFull&) {
      const auto has_news = [&] { return segments_waiting_ == 0 || removals_ != removals; };
      if (!wait_until(has_news) || removals_ == removals) throw;
    }
  }
  const MutexLock lock(mutex_);
  growing_bytes_ += bytes;
  room_changed();
  return nearly_full_ ? Room::Short : Room::Enough;
}

void SpoolRoom::stop_waiting_at(Clock::time_point until) {
  const MutexLock lock(mutex_);
  waits_until_ = until;
  changed_.notify_all();
}

void SpoolRoom::wait_for_removal(std::chrono::milliseconds at_most) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, at_most);
}

}  // namespace cupel::delivery_detail
