#pragma once

#include <string>

#include "cupel/rules/parameters.h"

namespace cupel {

/// The path of the one other run that a rule compares with: the parameter other_trials; that it is
/// not given, or names several, is a mistake. No run is opened.
std::string read_other_trial(ParameterReader& reader);

}  // namespace cupel
