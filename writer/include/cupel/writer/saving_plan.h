#pragma once

#include "cupel/core/saving_plan.h"
#include "cupel/writer/hook_configuration.h"

namespace cupel {

/// What a hook that is made of `configuration` would save, as far as the configuration has it:
/// names and collections given with calls come on top. Of the environment it takes how many workers
/// there are (docs/api.md), where the options do not have it. Throws UsageError as the hook does.
SavingPlan saving_plan(const HookConfiguration& configuration);

}  // namespace cupel
