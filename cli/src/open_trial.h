#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cupel/trial/trial.h"

namespace cupel {

/// Opens a run that must be there; throws MissingCollectionFiles that says what was looked for.
std::unique_ptr<Trial> open_trial(const std::string& path, TrialOptions options = {});

/// Throws UsageError with the nearest names for a tensor that the run has not.
Tensor require_tensor(const Trial& trial, const std::string& name);

/// Throws the first damage of the run, if there is any. Commands pin the trial, print what is
/// readable, and then call this.
void tell_damage(const Trial& trial);

/// The run's end as `info` and others tell it.
struct RunStatus {
  enum class Kind { Running, Silent, Ended };
  Kind kind = Kind::Running;
  std::int64_t silent_seconds = 0;  // since the newest step; Running and Silent
};
RunStatus status_of(const Trial& trial);
std::string to_text(const RunStatus& status);

}  // namespace cupel
