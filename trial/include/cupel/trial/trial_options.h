#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "cupel/store/store_scheme.h"
#include "cupel/trial/polling_options.h"
#include "cupel/trial/step_range.h"

namespace cupel {

/// How a run is opened for reading (create_trial, Trial).
struct TrialOptions {
  /// The name of the trial in verdict lines; default: the last part of the run's path.
  std::string name = {};
  /// Only these global steps are loaded. A negative or empty range is UsageError.
  StepRange range_steps = {};
  /// How long to wait for a run that is not there yet; default: not at all.
  std::chrono::milliseconds wait_for_run = std::chrono::milliseconds(0);
  /// A stop request ends that waiting as the time does.
  std::stop_token stop_waiting = {};
  /// When a refresh finds the end marker, it pauses this long and polls once more before the run
  /// counts as ended: for files that another program copies here in any order. Writers of cupel
  /// need no pause. Default: SMDEBUG_TRAINING_END_DELAY_REFRESH in seconds, where it is set, else
  /// no pause.
  std::optional<std::chrono::milliseconds> end_delay = std::nullopt;
  /// How many saved steps may wait for workers that have not committed them yet. When more steps
  /// wait, the first of them count as passed, by halves of the window, until no more wait than may;
  /// Trial::missing_workers() names the workers. Opening a run passes one half at most. At least 1,
  /// else UsageError. Default: SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW, where it is set, else steps
  /// wait until they are complete or the run has ended.
  std::optional<std::int64_t> wait_window = std::nullopt;
  /// Called while the run is opened, on the opening thread, with the bytes of the index that are
  /// read and the bytes that are listed.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  /// The stores that create_trial() can open beside directories, and that rules over the trial can
  /// open: other runs, results, requests to stop. Empty: built_in_schemes().
  StoreSchemes schemes = {};
  /// How a run is polled in a store in which every request costs.
  PollingOptions polling = {};
};

}  // namespace cupel
