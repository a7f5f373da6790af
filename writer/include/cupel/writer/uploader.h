#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/format/layout.h"
#include "cupel/store/store.h"

namespace cupel {

class LooseThreads;

struct UploadOptions {
  /// Requests that are under way at once,
  std::int64_t parallelism = 4;
  /// and the bytes in memory for them. A larger object goes alone.
  std::uint64_t most_bytes = 256ULL << 20U;
  /// After a failure nothing is asked for so long, twice as long after the next, up to
  /// `longest_pause`; less a part of it that is chosen at random.
  std::chrono::milliseconds first_pause{200};
  std::chrono::milliseconds longest_pause{30'000};
  /// The same where the store says that trying again does not help, as for want of permission.
  std::chrono::milliseconds refused_pause{60'000};
  /// Told, by any thread, how many bytes were uploaded and removed. Asked for nothing else.
  std::function<void(std::uint64_t bytes)> on_removed = {};
};

/// How far uploading has come.
struct UploadProgress {
  std::size_t segments_waiting = 0;
  std::uint64_t bytes_waiting = 0;
  std::uint64_t segments_uploaded = 0;
  std::uint64_t bytes_uploaded = 0;  ///< Of these segments.
  std::string trouble = {};          ///< Why the last request failed; "" when it did not.
  std::string refusal =
      {};  ///< The first failure that trying again does not help, if there was any.
};

/// Uploads what a worker has finished of its run from a directory to a store, in the background.
///
/// Of a segment the values go first and then the index, so that whoever reads the store finds a run
/// as a local one. Index objects go strictly in the order in which the segments were added, values
/// beside each other; the collections file goes before the index of segments that were added after
/// it has changed. What was uploaded is removed from the directory, the index first: an index file
/// that is still there is still to be uploaded.
///
/// What fails is tried again, for as long as the uploader lives; nobody has to look at it. Failures
/// are logged once, and so is their end. All functions may be called from any thread.
class Uploader {
 public:
  using Clock = std::chrono::steady_clock;

  Uploader(std::shared_ptr<Store> run, std::shared_ptr<Store> remote, std::string worker,
           UploadOptions options = {});
  /// Gives up what is not uploaded yet; it stays in the directory. A request that is under way is
  /// waited for a moment and then left to itself: nothing in the directory is touched afterwards.
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  /// A segment that was sealed. One that an earlier process left may be in the store already.
  enum class Origin { Sealed, LeftBehind };
  void add(const SegmentName& segment, Origin origin = Origin::Sealed);

  /// The worker's collections file has changed.
  void collections_changed();

  /// Says that nothing will be added. When all is uploaded, the collections file included, the
  /// run's end is said in the store, if it has ended: this worker's, where there are several, and
  /// that of the run, if it is the last.
  enum class Ending { Left, Ended };
  void finish(Ending ending, std::int64_t num_workers);

  /// Waits until all is done that finish() speaks of; false when the time is over first.
  bool wait_until_finished(Clock::time_point until);

  UploadProgress progress() const;
  /// Since when the segment waits that has waited longest; nothing if none waits.
  std::optional<Clock::time_point> waiting_since() const;

  /// Begins no further request, for the process exits. Takes no lock, because whoever calls may
  /// have interrupted one who has it.
  void halt() noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the threads
  std::unique_ptr<LooseThreads> threads_;
};

}  // namespace cupel
