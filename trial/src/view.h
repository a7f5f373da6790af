#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cupel/store/store.h"
#include "cupel/trial/trial.h"
#include "reading.h"
#include "trial_index.h"

namespace cupel {

/// What one view has of its own: its pin, and its ear at the store.
struct Trial::View {
  std::shared_ptr<TrialIndex> index;
  std::string name;

  // Set by pins, which are made while nobody queries the view.
  std::shared_ptr<const Snapshot> pinned = nullptr;
  std::optional<std::int64_t> limit = std::nullopt;

  std::mutex waiting = {};                 // held by the thread that waits
  std::mutex watch_mutex = {};             // guards the pointer
  std::unique_ptr<Watch> watch = nullptr;  // made by the first wait

  /// What a query answers from.
  trial_detail::Reading read() const {
    if (pinned) return {pinned.get(), limit};
    return trial_detail::Reading(index->up_to_date());
  }
};

}  // namespace cupel
