#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/store/store.h"
#include "cupel/writer/seal_run.h"
#include "cupel/writer/spool.h"
#include "cupel/writer/uploader.h"

namespace cupel {

struct SpoolOptions {
  /// How many bytes the spool may hold,
  std::uint64_t bytes = 16ULL << 30U;
  /// and how many must stay free on its disk.
  std::uint64_t disk_reserve = 1ULL << 30U;
  /// Whether close() ends requests that hang, and all later ones of the store.
  bool interrupts_remote = false;
  /// A directory that is not removed, also when nothing is left in it: the spool's, or the one that
  /// it lies in.
  std::string stays = {};
  UploadOptions upload = {};
};

/// What close() has not got into the store.
struct NotUploaded {
  std::int64_t steps = 0;
  std::uint64_t bytes = 0;
  bool end = false;            ///< The run has ended, and the store does not know.
  std::string why = {};        ///< What the store said last; "" if it was merely slow.
  std::string directory = {};  ///< Where it is, for `cupel sync`; "" when nothing is left.
};

/// The store that a worker writes to when its run goes to one that cannot append: it appends to
/// files in a spool, and what is finished is uploaded in the background.
///
/// At first it answers for both: what is in the spool, else what is in the store far away, and
/// remove() removes from both. So whoever is about to write finds the run that is there, however
/// much of it has been uploaded. From begin() on it is the spool alone, and no call but close()
/// waits for the store far away, unless the spool is full.
///
/// When the spool is full, append() and put() wait for uploads to make room; they go on when
/// nothing is left to upload. Where even then the disk has no room they throw StoreFull. Threads as
/// for any Store; begin() and close() alone.
class SpooledStore final : public Store {
 public:
  /// What there is in the spool of an earlier process is sealed, if the disk has room. If the store
  /// far away holds another run by now, it does not belong there and is set aside, unless it is
  /// `replaced` anyway. Throws StoreError when either cannot be read.
  SpooledStore(std::shared_ptr<Store> remote, Spool spool, SpoolOptions options, bool replaced);
  ~SpooledStore() override;

  /// Begins to upload: first what was left in the spool. Of an attempt that is damaged, what lies
  /// behind the damage stays there.
  ///
  /// Where the disk had no room to seal the last segment, waits until the others are uploaded, as
  /// long as `goes_on` says (null: as nothing fails), and seals it then. Throws StoreFull if it
  /// cannot; the rest is uploaded nevertheless.
  void begin(const std::function<bool()>& goes_on = {});

  /// Says that the run will not grow any more. Its end is uploaded last, if it has been put, unless
  /// what lies before it is damaged or not sealed.
  void finish();
  /// Waits until all is uploaded; false when the time is over first.
  bool wait_until_uploaded(std::chrono::steady_clock::time_point until);
  /// Ends uploading. If nothing is left the spool goes, unless it `stays` or holds other files.
  /// Nothing may be called afterwards.
  NotUploaded close();

  /// From `until` on, append() and put() do not wait for room: as long as the disk has any, more
  /// than the bounds allow is taken.
  void stop_waiting_at(std::chrono::steady_clock::time_point until);
  /// Begins no further request: the process exits.
  void halt() noexcept;

  /// Whether little room is left: the sooner a segment is sealed, the sooner it makes some.
  bool is_nearly_full() const noexcept { return nearly_full_; }
  /// Whether the spool can take a step without waiting for uploads.
  bool has_room() const noexcept { return !nearly_full_ || segments_waiting_ == 0; }
  /// Seals a segment that was cut off for want of room, so that it can be uploaded.
  void finish_segment(const SegmentName& name);
  UploadProgress progress() const;
  /// Whether the run has ended, as far as the worker is concerned, and did not go on elsewhere.
  bool has_end() const;
  /// What lies in the spool and is neither the worker's run nor the spool's own.
  std::vector<std::string> foreign_files() const { return spool_.foreign_files(); }
  /// Since when the segment waits that has waited longest; nothing if none waits.
  std::optional<std::chrono::steady_clock::time_point> waiting_since() const;
  /// What was done to what an earlier process had left in the spool,
  const SealReport& sealing() const noexcept { return sealing_; }
  /// and what is wrong with it.
  const std::vector<std::string>& problems() const noexcept { return problems_; }

  /// That of the store far away.
  std::string location() const override { return remote_->location(); }
  void put(std::string_view key, std::span<const std::byte> bytes,
           Durability durability = Durability::Durable) override;
  bool can_append() const noexcept override { return true; }
  void append(std::string_view key, std::uint64_t expected_size,
              std::span<const std::span<const std::byte>> pieces) override;
  void sync(std::string_view key) override;
  std::optional<std::vector<std::byte>> get(std::string_view key,
                                            std::uint64_t at_most = 64U << 20U) const override;
  std::size_t get_range(std::string_view key, std::uint64_t offset,
                        std::span<std::byte> out) const override;
  std::vector<ObjectInfo> list(std::string_view prefix, std::string_view after = {}) const override;
  std::optional<ObjectInfo> stat(std::string_view key) const override;
  void remove(std::string_view key) override;
  std::unique_ptr<Watch> watch(std::string_view prefix = {}) const override;

 private:
  void seal_left();
  std::size_t add_left();
  void add_problem(std::string text);
  void tell_damage(const SealReport& report);
  void settle_with_remote(bool replaced);
  void discard_for_another_run(const std::string& run, bool replaced);
  LocalStore& run() const noexcept { return *run_; }
  template <class Condition>
  bool await(Condition&& condition) CUPEL_UNCHECKED_LOCKS;  // the condition needs the mutex
  template <class Write>
  void write(std::uint64_t bytes, bool may_wait, Write&& write_it);
  bool is_short_of(std::uint64_t bytes) const CUPEL_REQUIRES(mutex_);
  void count(std::uint64_t added, std::uint64_t removed);
  void add_sealed(const SegmentName& name);
  NotUploaded what_is_left();
  bool is_ending();

  const std::shared_ptr<Store> remote_;
  Spool spool_;
  const std::shared_ptr<LocalStore> run_;  // of the spool
  const SpoolOptions options_;
  SealReport sealing_;
  std::vector<std::string> problems_;
  std::unique_ptr<Uploader> uploader_;  // from begin() to close()
  bool is_closed_ = false;
  bool has_gaps_ = false;             // what an earlier process left is not all uploaded
  bool says_end_ = false;             // since finish()
  std::optional<StoreFull> no_room_;  // to seal what an earlier process left
  // Those in the store, if a later attempt has written them.
  std::optional<std::vector<std::byte>> newer_collections_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t used_ CUPEL_GUARDED_BY(mutex_) = 0;
  // Not sealed yet.
  std::set<std::string, std::less<>> open_indexes_ CUPEL_GUARDED_BY(mutex_);
  std::optional<std::chrono::steady_clock::time_point> waits_until_ CUPEL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> removals_{0};
  std::atomic<std::size_t> segments_waiting_{0};
  std::atomic<bool> nearly_full_{false};
};

}  // namespace cupel
