#pragma once

#include <string>

#include "cupel/rules/rule_parameter.h"

namespace cupel::rules_detail {

/// Returns the path in the text of the parameter other_trials of a rule that compares with one run;
/// several paths are a mistake. No run is opened.
std::string only_path(const std::string& text, ParameterMistakes& mistakes);

}  // namespace cupel::rules_detail
