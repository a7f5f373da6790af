#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/delivery/segment_events.h"
#include "cupel/delivery/spool.h"
#include "cupel/delivery/upload_options.h"
#include "cupel/store/store.h"

namespace cupel {

/// How the run of a worker is delivered.
struct RunDeliveryOptions {
  /// The largest number of bytes that the spool may hold.
  std::uint64_t spool_bytes = 16ULL << 30U;
  /// The number of bytes that stay free on the spool's disk.
  std::uint64_t disk_reserve = 1ULL << 30U;
  /// Whether the writer replaces the run. Files of another run that are left in the spool then stay
  /// where they are, because the writer removes them.
  bool replaces_run = false;
  /// Whether deliver() interrupts requests of the remote store that hang, and all later ones.
  bool interrupts_remote = false;
  /// A directory that is not removed even if it is empty: the spool's, or the one above it.
  std::string stays = {};
  UploadOptions upload = {};  ///< How files are uploaded.
};

/// The files that a delivery has left in the spool.
struct NotUploaded {
  std::int64_t steps = 0;      ///< Committed steps in these files.
  std::uint64_t bytes = 0;     ///< Bytes of index and events files.
  bool end = false;            ///< Whether the end of the run is among them.
  std::string why = {};        ///< The last failure of the remote store; empty if it is only slow.
  std::string directory = {};  ///< The spool, for `cupel sync`; empty when nothing is left.
};

/// Brings the run of one worker to a remote store, which cannot append.
///
/// The writer works in run(), a local run in the spool, and reports events; sealed segments are
/// uploaded in the background and then removed. No call but deliver(), and none of the events,
/// waits for the remote store, unless the spool is full.
///
///     RunDelivery delivery(remote, Spool(directory, destination), options);
///     prepare_run(delivery.run_at_start());     // reads and removes what earlier processes left
///     delivery.begin();
///     write_run(delivery.run(), &delivery);     // see SegmentEvents
///     NotUploaded left = delivery.deliver(in_ten_minutes);
///
/// Threads: the events as SegmentEvents says; has_room(), progress(), waiting_since() and halt()
/// from any thread; all else from one thread, which does not call begin() or deliver() beside
/// events.
class RunDelivery final : public SegmentEvents {
 public:
  using Clock = std::chrono::steady_clock;

  /// Seals the segments that an earlier process left open in the spool, if the disk has room. If
  /// the remote store holds another run by now, moves the files to a directory beside the spool.
  /// Throws StoreError when spool or remote store cannot be read.
  RunDelivery(std::shared_ptr<Store> remote, Spool spool, RunDeliveryOptions options);
  /// Ends uploading; see deliver(). Removes the spool if it is empty and nothing was begun.
  ~RunDelivery() override;

  /// The local run, which the writer writes to after begin().
  LocalStore& run() noexcept;
  /// The run before begin(): the files in the spool and, for other keys, those in the remote store.
  /// remove() removes from both. Not for use after begin().
  Store& run_at_start() noexcept;

  /// Begins to upload, first the segments that are left in the spool. The segments of an attempt
  /// that follow a damaged one stay in the spool.
  ///
  /// Where the disk had no room to seal the last segment, waits until the others are uploaded and
  /// seals it then. `goes_on` is asked meanwhile whether to wait longer; without it, the wait ends
  /// at the first failure. Throws StoreFull if the segment cannot be sealed; uploading goes on.
  void begin(const std::function<bool()>& goes_on = {});

  Room room_for(std::uint64_t bytes, const std::function<void()>& write) override;
  void opened(const SegmentName& name) override;
  void sealed(const SegmentName& name, const SealReport& report) override;
  void collections_changed() override;
  void ended() override;

  /// Whether the spool can take a step without waiting for uploads.
  bool has_room() const noexcept;
  /// From `until` on, room_for() does not wait: bytes beyond the bounds are written as long as the
  /// disk takes them.
  void stop_waiting_at(Clock::time_point until);

  UploadProgress progress() const;
  /// Returns when the segment was sealed that waits longest; nothing if none waits.
  std::optional<Clock::time_point> waiting_since() const;

  /// Waits until everything is uploaded, until `until` at most and as long as `goes_on` returns
  /// true, which is asked every 50 ms. The end of the run is uploaded last, unless a segment before
  /// it is damaged or not sealed. Then ends uploading. Removes the spool if nothing is left.
  /// Returns the rest. What later events report stays in the spool.
  NotUploaded deliver(Clock::time_point until, const std::function<bool()>& goes_on = {});
  /// Begins no further request: the process exits.
  void halt() noexcept;

  /// Whether the worker has ended its part of the run, and no later attempt has continued it.
  bool has_ended() const noexcept;
  /// Files in the spool that belong neither to the worker's run nor to the spool itself.
  std::vector<std::string> foreign_files() const;
  /// The result of sealing the segments that an earlier process left open.
  const SealReport& sealing() const noexcept;
  /// The defects of the files in the spool, as messages.
  std::vector<std::string> problems() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace cupel
