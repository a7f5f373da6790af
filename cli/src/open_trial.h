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

/// Seconds since the newest step was committed; 0 if there is none.
std::int64_t seconds_of_silence(const Trial& trial);

/// A status for people: "interrupted: no process writes it; the newest step is 12 s old".
std::string status_text(RunStatus status, std::int64_t silent_seconds);

}  // namespace cupel
