#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "cupel/delivery/loose_threads.h"
#include "cupel/store/store.h"

namespace cupel::writer_detail {

// Finds out whether the store of a run holds a request to stop the training.
//
// A store that can append is near: look() asks it, at most every 100 ms. Any other store is asked
// every two seconds by a thread, so that no step waits for it. A request that was in the store
// before this training began is not for this training, unless the run's writer has removed it.
class StopWatch {
 public:
  // Reads the request that is already there; throws StoreError when the store cannot be asked.
  explicit StopWatch(std::shared_ptr<Store> store);
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  // Begins to watch. After `run`, which is the store as the run's writer sees it, was prepared for
  // this training: the old request counts as removed if `run` does not hold it any more.
  void begin(const Store& run);
  void begin();

  // Asks the store if it is time, `now`; between steps. A store that cannot be asked is asked again
  // later.
  void look(std::chrono::steady_clock::time_point now);
  // Whether a request has been seen. From any thread.
  bool is_requested() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread
  std::chrono::steady_clock::time_point looked_{};
  LooseThreads thread_;
};

}  // namespace cupel::writer_detail
