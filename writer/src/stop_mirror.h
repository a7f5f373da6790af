#pragma once

#include <memory>
#include <optional>

#include "cupel/store/store.h"
#include "loose_threads.h"

namespace cupel {

// Looks every few seconds whether a store far away has a request to stop training, so that nobody
// else has to ask it.
class StopMirror {
 public:
  // A request that is `known` is not for this training.
  StopMirror(std::shared_ptr<Store> remote, std::optional<ObjectInfo> known);
  ~StopMirror();
  StopMirror(const StopMirror&) = delete;
  StopMirror& operator=(const StopMirror&) = delete;

  bool is_requested() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread
  LooseThreads thread_;
};

}  // namespace cupel
