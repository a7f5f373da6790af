#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cupel/core/mutex.h"
#include "cupel/delivery/segment_events.h"
#include "cupel/format/layout.h"
#include "cupel/store/local_store.h"

namespace cupel::delivery_detail {

// The room in a spool: the bytes of its files, and the writer's wait for uploads to make room.
//
// A segment is open, then waits for its upload, then is removed. All functions may be called from
// any thread.
class SpoolRoom {
 public:
  using Clock = std::chrono::steady_clock;
  using Room = SegmentEvents::Room;

  // `bytes` may be in the spool, and `disk_reserve` bytes stay free on its disk.
  SpoolRoom(std::shared_ptr<const LocalStore> run, std::string collections_key, std::uint64_t bytes,
            std::uint64_t disk_reserve);

  // Counts the files that are in the spool. While no segment is open, nor waits.
  void count_files();
  void opened(const SegmentName& segment);
  // The segment is not open any more; false if it was not open.
  bool closed(const SegmentName& segment);
  // A segment that is not open waits for its upload.
  void waits(const SegmentName& segment);
  // A segment of so many bytes was uploaded and removed.
  void removed(std::uint64_t bytes) noexcept;
  void collections_changed();

  // SegmentEvents::room_for().
  Room write(std::uint64_t bytes, const std::function<void()>& write_it);
  // From `until` on, write() does not wait.
  void stop_waiting_at(Clock::time_point until);
  // Waits for the removal of a segment, no longer than `at_most`.
  void wait_for_removal(std::chrono::milliseconds at_most);

  std::size_t segments_waiting() const noexcept { return segments_waiting_; }
  // Whether the spool can take a step without waiting for uploads.
  bool has_room() const noexcept { return !nearly_full_ || segments_waiting_ == 0; }
  // Whether an open segment has committed steps, or cannot be examined.
  bool has_open_index() const;

 private:
  template <class Condition>
  bool wait_until(Condition&& condition) CUPEL_UNCHECKED_LOCKS;  // the condition needs the mutex
  std::uint64_t size_of(const std::string& key) const;
  std::uint64_t size_of(const SegmentName& segment) const;
  std::uint64_t size_of_growing_files() const CUPEL_REQUIRES(mutex_);
  bool has_room_for(std::uint64_t bytes) CUPEL_REQUIRES(mutex_);
  bool is_short_of(std::uint64_t bytes) noexcept CUPEL_REQUIRES(mutex_);
  void room_changed() noexcept CUPEL_REQUIRES(mutex_);

  const std::shared_ptr<const LocalStore> run_;
  const std::string collections_key_;
  const std::uint64_t most_bytes_;
  const std::uint64_t disk_reserve_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::set<SegmentName> open_ CUPEL_GUARDED_BY(mutex_);
  std::uint64_t waiting_bytes_ CUPEL_GUARDED_BY(mutex_) = 0;
  // Of open segments and the collections file; never too low, but too high after a step was given
  // up whose values were written.
  std::uint64_t growing_bytes_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::uint64_t other_bytes_ CUPEL_GUARDED_BY(mutex_) = 0;
  std::optional<Clock::time_point> waits_until_ CUPEL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> removals_{0};
  std::atomic<std::size_t> segments_waiting_{0};
  std::atomic<bool> nearly_full_{false};
};

}  // namespace cupel::delivery_detail
