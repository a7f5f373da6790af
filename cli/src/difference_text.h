#pragma once

#include <string>

#include "cupel/core/printer.h"
#include "cupel/trial/run_difference.h"

namespace cupel {

/// What a person reads of a difference: where, then in an indented line what.
///
///     runs part at step 40 (TRAIN 40): fc1.weight, worker_0
///       element [3, 1] of (4, 4): 0.5 in A, 0.25 in B (differs by 0.25)
void print_difference(Printer out, const RunDifference& difference);

/// The same as a JSON object.
std::string difference_json(const RunDifference& difference);

}  // namespace cupel
