#pragma once

#include "cupel/core/error.h"
#include "cupel/rules/rule_needs.h"

namespace cupel::rules_detail {

/// Returns the tensors of the first need; throws UsageError where there is none.
inline const NeededTensors& first_tensors(const RuleNeeds& needs) {
  if (needs.tensors.empty()) throw UsageError("a rule over tensors has a need, which chooses them");
  return needs.tensors.front().tensors;
}

}  // namespace cupel::rules_detail
