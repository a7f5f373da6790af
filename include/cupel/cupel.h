#pragma once

/// All of cupel: save tensors (Hook), look into a run (create_trial), judge it (Rule, RuleRunner).

#include "cupel/core/error.h"              // IWYU pragma: export
#include "cupel/core/log.h"                // IWYU pragma: export
#include "cupel/core/number_text.h"        // IWYU pragma: export
#include "cupel/rules/load_rules.h"        // IWYU pragma: export
#include "cupel/rules/loss_rule.h"         // IWYU pragma: export
#include "cupel/rules/option_parameter.h"  // IWYU pragma: export
#include "cupel/rules/rule.h"              // IWYU pragma: export
#include "cupel/rules/rule_catalog.h"      // IWYU pragma: export
#include "cupel/rules/rule_runner.h"       // IWYU pragma: export
#include "cupel/rules/tensor_rule.h"       // IWYU pragma: export
#include "cupel/scripting/lua_rules.h"     // IWYU pragma: export
#include "cupel/trial/copy_run.h"          // IWYU pragma: export
#include "cupel/trial/run_comparison.h"    // IWYU pragma: export
#include "cupel/trial/run_follower.h"      // IWYU pragma: export
#include "cupel/trial/trial.h"             // IWYU pragma: export
#include "cupel/trial/verify_run.h"        // IWYU pragma: export
#include "cupel/writer/hook.h"             // IWYU pragma: export
#include "cupel/writer/run_writer.h"       // IWYU pragma: export
