#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

namespace cupel {

/// The state of a step in a trial (Trial::has_passed_step); the numbers are those of the ported
/// SDK.
enum class StepState {
  Unavailable = 0,      ///< The run has passed the step without saving anything there.
  Available = 1,        ///< The step is complete.
  NotYetAvailable = 2,  ///< The step may come, or more of its workers may.
};

/// How long Trial::wait_for_steps() waits.
struct WaitOptions {
  /// The waiting ends after this time; default: never.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  /// The waiting also ends when this is requested, from any thread.
  std::stop_token stop = {};
};

}  // namespace cupel
