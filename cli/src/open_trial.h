#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "cupel/trial/trial.h"

namespace cupel {

/// Opens a run that must be there, showing how far that is; throws as create_trial() does.
std::unique_ptr<Trial> open_trial(const std::string& path, TrialOptions options = {});

/// Throws UsageError with the nearest names for a tensor that the run has not.
Tensor require_tensor(const Trial& trial, const std::string& name);

/// Throws UsageError with the nearest names unless one of the runs lists the collection, or it is a
/// built-in one.
void require_collection(std::initializer_list<const Trial*> trials, const std::string& name);

/// Throws UsageError with the nearest steps unless something was saved at the step of the mode.
void require_step(const Trial& trial, std::int64_t step, Mode mode);

/// "saved steps near it: 0, 10, 20", of the sorted steps of a mode.
std::string steps_near(const std::vector<std::int64_t>& steps, std::int64_t step);

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
