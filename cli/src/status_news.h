#pragma once

#include <functional>

#include "cupel/core/printer.h"
#include "cupel/trial/trial.h"

namespace cupel {

/// Tells a person, in a line of `err`, when the watched run is interrupted, and when a process
/// writes it again. `ends`: the watch ends then (--until-writer-gone).
std::function<void(RunStatus)> status_news(Printer err, bool ends);

/// Says so where --until-writer-gone cannot end a watch of the run.
void warn_of_unseen_writers(const Trial& trial, Printer err);

}  // namespace cupel
