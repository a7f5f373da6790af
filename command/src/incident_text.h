#pragma once

#include <string>

#include "cupel/rules/incident.h"
#include "cupel/rules/verdict_line.h"

namespace cupel::command_detail {

/// Returns the line for people where an incident begins: the number of tensors, and the worst
/// finding.
///
///     step 40 TRAIN  VanishingGradient  begins in 2 tensors, worst gradient/fc1.weight  abs_mean …
std::string begin_text(const VerdictLine& line);

/// Returns the line for people where an incident ends.
///
///     step 60 TRAIN  VanishingGradient  is over after 3 steps, 20 to 40, with 4 findings
std::string over_text(const Incident& incident);

}  // namespace cupel::command_detail
