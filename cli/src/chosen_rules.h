#pragma once

#include <string>
#include <vector>

#include "cupel/core/collection_configuration.h"
#include "cupel/rules/action.h"
#include "cupel/rules/builtin_rules.h"
#include "cupel/rules/parameters.h"
#include "cupel/rules/rule_configuration.h"

namespace cupel {

/// A rule that the command line asks for, by a SPEC or in a configuration file.
struct ChosenRule {
  const BuiltinRule* rule = nullptr;
  std::string name;  ///< The configuration's; no two have the same.
  RuleParameters parameters;
  RunnerParameters runner = {};
  std::vector<Action> actions = {};
  /// What is to be saved for it, in place of what the rule itself would say.
  std::vector<CollectionConfiguration> collections = {};
};

/// Those of the file, if one is named, then those of the SPECs. Names and parameters are checked,
/// without a run; throws UsageError with every mistake in all of them, one a line, and where there
/// is no rule at all. What of `action_json` cannot be used is logged.
std::vector<ChosenRule> choose_rules(const std::vector<std::string>& specs,
                                     const std::string& config);

}  // namespace cupel
