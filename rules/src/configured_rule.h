#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/configuration_reading.h"
#include "cupel/rules/rule_configuration.h"

namespace cupel::rules_detail {

/// One entry of DebugRuleConfigurations (docs/cli.md), before its rule is known.
struct ConfiguredRule {
  RuleConfiguration use;    ///< Everything that the entry has but the definition and the actions.
  std::string rule;         ///< rule_to_invoke, else the name of the entry.
  std::string source;       ///< source_s3_uri: the file of a rule in Lua. Empty: a built-in rule.
  std::string action_json;  ///< The text of the actions.
  /// The edition of the built-in rule: as it was published, unless the entry asks for ours.
  Definitions edition = Definitions::Reference;
  bool has_workers = false;     ///< RunnerParameters.workers is given.
  bool has_mistakes = false;    ///< The report has errors of this entry.
  bool is_named_alone = false;  ///< The name of the entry stands for the rule.
  std::string path;             ///< The keys that lead to the entry.
  std::map<std::string, std::string, std::less<>> parameter_paths = {};  ///< By parameter.

  /// The keys that lead to a parameter; where it is not given, to the entry.
  const std::string& path_of(std::string_view parameter) const;
};

/// Reads the entries of a configuration: an array, bare or within {"DebugRuleConfigurations": ...},
/// null standing for none. Mistakes are errors of the document's report, and keys that are not
/// known its warnings; keys of the managed service (instance types and the like) are ignored.
///
/// Whether there is such a rule, and takes these parameters, is not checked. More than 20 entries,
/// 100 parameters of an entry, 256 characters of a name or key, or 16384 of a value are errors.
std::vector<ConfiguredRule> read_configured_rules(const ConfigurationValue& root);

/// Takes the parameters that name further runs out of a rule's parameters: other_trial_0,
/// other_trial_1, … in the order of their numbers, then the comma lists other_trials and (older)
/// other_trial. Returns their paths, without blanks around them.
std::vector<std::string> take_other_trials(RuleParameters& parameters);

}  // namespace cupel::rules_detail
