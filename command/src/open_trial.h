#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "cupel/trial/run_status.h"
#include "cupel/trial/trial.h"

namespace cupel::command_detail {

/// Opens a run that must exist, and shows the progress. Throws as create_trial() does.
std::unique_ptr<Trial> open_trial(const std::string& path, TrialOptions options = {});

/// Returns the tensor. Throws UsageError, with the nearest names, where the run does not have it.
Tensor require_tensor(const Trial& trial, const std::string& name);

/// Throws UsageError, with the nearest names, where none of the runs lists the collection and it is
/// not built in.
void require_collection(std::initializer_list<const Trial*> trials, const std::string& name);

/// Throws UsageError, with the nearest steps, where nothing was saved at the step of the mode.
void require_step(const Trial& trial, std::int64_t step, Mode mode);

/// Returns "saved steps near it: 0, 10, 20", from the sorted steps of a mode.
std::string steps_near(const std::vector<std::int64_t>& steps, std::int64_t step);

/// Throws the first damage of the run, if there is any. Commands pin the trial, print the data that
/// is readable, and then call this.
void throw_damage(const Trial& trial);

/// Returns the seconds since the newest step was committed; 0 without a step.
std::int64_t seconds_of_silence(const Trial& trial);

/// Returns a status for people: "interrupted: no process writes it; the newest step is 12 s old".
std::string status_text(RunStatus status, std::int64_t silent_seconds);

}  // namespace cupel::command_detail
