#pragma once

#include "cupel/rules/builtin_rules.h"

namespace cupel {

// One function for each file that holds a rule; builtin_rules.cc lists them.
BuiltinRule exploding_tensor();
BuiltinRule vanishing_gradient();

}  // namespace cupel
