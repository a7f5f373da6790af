#pragma once

#include <string>

#include "cupel/core/printer.h"
#include "cupel/trial/run_comparison.h"

namespace cupel::command_detail {

/// Prints a difference for people: the place, then the difference in an indented line.
///
///     runs part at step 40 (TRAIN 40): fc1.weight, worker_0
///       element [3, 1] of (4, 4): 0.5 in A, 0.25 in B (differs by 0.25)
void print_difference(Printer out, const RunDifference& difference);

/// Returns the difference as a JSON object.
std::string difference_json(const RunDifference& difference);

}  // namespace cupel::command_detail
