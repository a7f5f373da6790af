#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection_configuration.h"
#include "cupel/rules/action.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_configuration.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/scripting/script_limits.h"

namespace cupel {

/// What a command line says of the rules that it asks for.
struct RuleChoice {
  // NAME[,param=value…] or FILE.lua[:NAME][,param=value…]; "all" is every built-in rule that needs
  // no parameter.
  std::vector<std::string> specs = {};
  std::string config = {};         // a file of DebugRuleConfigurations
  std::string script_limits = {};  // see parse_script_limits
};

/// A rule that the command line asks for, by a SPEC or in a configuration file; built in or in Lua.
struct ChosenRule {
  std::string rule;  ///< What it is called in its kind: "VanishingGradient".
  std::string name;  ///< The configuration's; no two have the same.
  RuleNeeds needs;
  bool says_needs = true;  ///< Else they are not known.
  bool is_of_set = false;  ///< Chosen by "all", not by name.
  std::function<std::unique_ptr<Rule>(Trial& base)> make;
  std::string configuration;  ///< Its parameters and its text, as RuleOptions has them.
  RunnerParameters runner = {};
  std::vector<Action> actions = {};
  /// What is to be saved for it, in place of what the rule itself would say.
  std::vector<CollectionConfiguration> collections = {};
};

/// The SPEC of every built-in rule without a required parameter.
inline constexpr std::string_view kRulesOfSet = "all";

/// Those of the configuration file, if one is named, then those of the SPECs. Names, parameters and
/// files of Lua are checked, without a run; throws UsageError with every mistake in all of them,
/// one a line, and where there is no rule at all. What of `action_json` cannot be used is logged.
std::vector<ChosenRule> choose_rules(const RuleChoice& choice);

/// Reads "memory=256,time=5,instructions=1e8", in MiB and seconds; what is left out is as it is by
/// itself. Throws UsageError.
ScriptLimits parse_script_limits(const std::string& text);

}  // namespace cupel
