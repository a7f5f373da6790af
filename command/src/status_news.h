#pragma once

#include <functional>

#include "command_context.h"
#include "cupel/trial/run_status.h"
#include "cupel/trial/trial.h"

namespace cupel::command_detail {

/// Returns a function that reports when the watched run is interrupted, and when a process writes
/// it again. With `ends` an interrupted run ends the watch (--until-writer-gone).
std::function<void(RunStatus)> status_news(const CommandContext& context, bool ends);

/// Warns where --until-writer-gone cannot end a watch of the run.
void warn_of_unseen_writers(const Trial& trial, const CommandContext& context);

}  // namespace cupel::command_detail
