#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/collection_configuration.h"
#include "cupel/rules/action.h"
#include "cupel/rules/rule_definition.h"

namespace cupel {

/// One use of a rule: its definition with the parameters, the range of steps and the actions that a
/// SPEC, an entry of a configuration file or a program gives it. Values; copies share the
/// definition.
struct RuleConfiguration {
  std::shared_ptr<const RuleDefinition> definition = nullptr;
  /// The name in verdict lines. Empty: the name of the rule. A second one of a name gets "#2".
  std::string name = {};
  RuleParameters parameters = {};
  /// The paths of the other runs that the rule compares with. RuleConfiguration::make() opens them,
  /// or the rule itself does.
  std::vector<std::string> other_trials = {};
  std::optional<std::int64_t> start_step = std::nullopt;  ///< Default: the runner's.
  std::optional<std::int64_t> end_step = std::nullopt;    ///< Exclusive. Default: the runner's.
  std::optional<bool> stop_at_first = std::nullopt;       ///< Default: the runner's.
  std::vector<Action> actions = {};  ///< The rule's own actions, which run before the runner's.
  /// The collections that are to be saved for the rule. Empty: those that its needs ask for.
  std::vector<CollectionConfiguration> collections = {};
  /// The rule was asked for as a part of a set ("all"), not by its name: the lines about the rule
  /// begin at the first step where the rule has something to judge, and a rule that never has
  /// anything gives no line.
  bool only_if_fed = false;

  /// Returns the parameters as the definition takes them. A rule with a parameter `other_trials`
  /// opens the other runs itself, and gets their paths as its value.
  RuleParameters all_parameters() const;
  /// Whether the rule has a parameter `other_trials`, and opens the other runs itself.
  bool opens_other_trials() const;
  /// The same as the definition's functions, with these parameters.
  RuleNeeds needs() const;
  /// Opens the other runs, by the schemes of `base`, and makes the rule.
  std::unique_ptr<Rule> make(Trial& base) const;
  /// Tells this use of the rule from another of the same name: parameters, other runs, code.
  std::string fingerprint() const;
};

}  // namespace cupel
