#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cupel/delivery/loose_threads.h"
#include "cupel/delivery/upload_options.h"
#include "cupel/format/layout.h"
#include "cupel/store/store.h"

namespace cupel::delivery_detail {

// Uploads the finished files of one worker from a local run to a remote store, in the background.
//
// The values of a segment are uploaded before its index, so that the remote store holds a whole run
// at every moment. Index files are uploaded in the order of add(); values of several segments at
// the same time; the collections file before the index of segments that were added after it had
// changed. Uploaded files are removed from the local run, the index first: an index file that is
// still there is still to be uploaded.
//
// The uploader retries a failed request for as long as it lives. It logs the first failure and the
// next success. All functions may be called from any thread.
class Uploader {
 public:
  using Clock = std::chrono::steady_clock;

  using HaltFlag = std::shared_ptr<const std::atomic<bool>>;

  // `on_removed` is called by any thread with the number of bytes that were uploaded and removed,
  // and throws nothing. When `halted` becomes true, no further request begins: the process exits.
  Uploader(std::shared_ptr<Store> run, std::shared_ptr<Store> remote, std::string worker,
           UploadOptions options, std::function<void(std::uint64_t bytes)> on_removed = {},
           HaltFlag halted = std::make_shared<std::atomic<bool>>(false));
  // Gives up the uploads that are not done; their files stay. Waits for requests that are under way
  // for one second at most. No file is removed afterwards.
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Adds a sealed segment. A segment that an earlier process left may be in the store already.
  enum class Origin { Sealed, LeftBehind };
  void add(const SegmentName& segment, Origin origin = Origin::Sealed);

  // The worker's collections file has changed.
  void collections_changed();

  // Nothing is added any more. When everything is uploaded, and the worker has ended its part of
  // the run, write_end() ends it in the remote store.
  enum class Ending { Left, Ended };
  void finish(Ending ending, std::int64_t num_workers);

  // Waits until everything is done after finish(); false when the time is over first.
  bool wait_until_finished(Clock::time_point until);

  UploadProgress progress() const;
  // When the segment was added that waits longest; nothing if none waits.
  std::optional<Clock::time_point> waiting_since() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the threads
  LooseThreads threads_;
};

}  // namespace cupel::delivery_detail
