#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/parameters.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"

namespace cupel {

/// A rule that comes with cupel: how to make it, and all that is printed about it.
struct BuiltinRule {
  std::string_view name;     ///< "VanishingGradient"
  std::string_view summary;  ///< One line.
  /// What it compares with what, what it remembers, what it skips and why, what it costs:
  /// paragraphs of Markdown, an empty line between them. Lines indented by four blanks are
  /// formulas.
  std::string_view description;
  std::string_view example;  ///< A `--rule` that somebody may give, with all that it requires.
  std::string reads;         ///< Its needs in words, before anybody gave it parameters.
  std::span<const ParameterInfo> parameters;
  std::unique_ptr<Rule> (*make)(Trial& base, const RuleParameters& parameters);
  /// Throws what make() would throw for these parameters; needs no run.
  void (*check)(const RuleParameters& parameters);
  /// What a run must have saved to feed the rule; throws what make() would throw.
  RuleNeeds (*needs)(const RuleParameters& parameters);
};

/// All of them, by name.
std::span<const BuiltinRule> builtin_rules();

/// Finds a rule by either form of its name ("VanishingGradient", "vanishing_gradient"); null if
/// there is none.
const BuiltinRule* find_builtin_rule(std::string_view name);

/// The same; throws UsageError, with the nearest names, if there is none.
const BuiltinRule& require_builtin_rule(std::string_view name);

/// Makes one; throws UsageError for an unknown name or bad parameters (all at once).
std::unique_ptr<Rule> make_builtin_rule(std::string_view name, Trial& base,
                                        const RuleParameters& parameters = {});

}  // namespace cupel
