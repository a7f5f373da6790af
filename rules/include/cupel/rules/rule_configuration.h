#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection_configuration.h"
#include "cupel/rules/parameters.h"

namespace cupel {

/// What a configuration says of how a rule is run; what it does not say is the runner's.
struct RunnerParameters {
  std::optional<std::int64_t> start_step;  ///< The first global step to judge.
  std::optional<std::int64_t> end_step;    ///< Exclusive.
  std::optional<bool> stop_on_first_fire;
  std::optional<bool> raise_eval_cond;
  std::vector<std::string> workers;  ///< Empty: all.
};

/// One entry of DebugRuleConfigurations (docs/cli.md).
struct RuleConfiguration {
  std::string name;    ///< RuleConfigurationName; no two have the same.
  std::string rule;    ///< rule_to_invoke, else the name.
  std::string source;  ///< source_s3_uri: the file of a rule of the user's; empty: built in.
  RuleParameters
      parameters;  ///< The rule's own; `other_trials` too, where it has one of that name.
  std::vector<std::string> other_trials;  ///< Paths of further runs, in order.
  std::string action_json;
  /// Take the place of the collections that the rule would have saved.
  std::vector<CollectionConfiguration> collections;
  RunnerParameters runner;
};

/// Reads JSON text: an array of entries, bare or within {"DebugRuleConfigurations": ...}, null
/// standing for none. Keys that nobody knows are logged as warnings, with the nearest known key,
/// and ignored; so are those of the managed service (instance types and the like), silently.
///
/// Whether there is such a rule, and takes these parameters, is not checked here. Throws one
/// UsageError that begins with `source` and has a line for each mistake. More than 16 MiB of text,
/// 64 levels, 20 entries, 100 parameters of an entry, 256 characters of a name or key, or 16384 of
/// a value are refused.
std::vector<RuleConfiguration> parse_rule_configurations(std::string_view json,
                                                         std::string_view source);

/// Reads the file `path` likewise. Throws UsageError naming it when it cannot be read.
std::vector<RuleConfiguration> read_rule_configurations(const std::string& path);

/// Takes the parameters that name further runs out of a rule's parameters: other_trial_0,
/// other_trial_1, … in the order of their numbers, then the comma lists other_trials and (older)
/// other_trial. Gives their paths, blanks around them removed.
std::vector<std::string> take_other_trials(RuleParameters& parameters);

/// Puts them back, as the comma list other_trials, if `rule` is a built-in one with a parameter of
/// that name.
void give_other_trials(std::string_view rule, const std::vector<std::string>& other_trials,
                       RuleParameters& parameters);

}  // namespace cupel
