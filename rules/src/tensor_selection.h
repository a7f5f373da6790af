#pragma once

#include <string>
#include <vector>

#include "cupel/core/pattern.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/rule_parameter.h"

namespace cupel::rules_detail {

/// The parameters by which most rules select tensors.
Parameter collection_names();
Parameter tensor_regex();

/// The tensors that the two parameters select, together. Where neither is given: every tensor of a
/// step (`all_if_none`), or the choice is missing.
NeededTensors selected_tensors(const std::vector<std::string>& collections,
                               const PatternList& patterns, bool all_if_none);

/// Adds a mistake where neither parameter selects anything. `text` is its message.
void require_selection(const ParameterValues& values, ParameterMistakes& mistakes,
                       std::string text =
                           "which tensors to judge is not given: give collection_names or "
                           "tensor_regex");

}  // namespace cupel::rules_detail
