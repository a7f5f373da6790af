#pragma once

/// All of cupel: save tensors (Hook), look into a run (create_trial), judge it (Rule, RuleRunner).

#include "cupel/core/error.h"               // IWYU pragma: export
#include "cupel/core/log.h"                 // IWYU pragma: export
#include "cupel/rules/builtin_rules.h"      // IWYU pragma: export
#include "cupel/rules/rule.h"               // IWYU pragma: export
#include "cupel/rules/rule_runner.h"        // IWYU pragma: export
#include "cupel/scripting/lua_rule_file.h"  // IWYU pragma: export
#include "cupel/trial/copy_run.h"           // IWYU pragma: export
#include "cupel/trial/run_difference.h"     // IWYU pragma: export
#include "cupel/trial/trial.h"              // IWYU pragma: export
#include "cupel/trial/verify_run.h"         // IWYU pragma: export
#include "cupel/writer/hook.h"              // IWYU pragma: export
