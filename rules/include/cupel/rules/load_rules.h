#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_configuration.h"
#include "cupel/rules/rule_problem.h"

namespace cupel {

/// Loads the rules that a user asks for: by SPEC, in a configuration file, from files in Lua.
///
///     const LoadedRules loaded = load_rules({.specs = {"VanishingGradient,threshold=1e-6"}},
///                                           builtin_rules(), lua_rule_reader());
///     for (const RuleProblem& error : loaded.errors) std::cerr << to_text(error) << '\n';
///     for (const RuleConfiguration& rule : loaded.rules) runner.add(rule);

/// The definitions in a file of rules, with all that is wrong in it.
struct RuleFile {
  std::vector<std::shared_ptr<const RuleDefinition>> definitions;
  std::vector<RuleProblem> errors;
  std::vector<RuleProblem> warnings;
  bool is_readable = true;  ///< False: the only error is why the file could not be read.

  /// Returns the rule of that name; an exact name wins over its other form. Null: there is none.
  std::shared_ptr<const RuleDefinition> find(std::string_view name) const;
};
/// Reads a file of rules. Throws nothing but what is no fault of the file (std::bad_alloc).
using RuleFileReader = std::function<RuleFile(const std::string& path)>;

/// Where rules are to be loaded from.
struct RuleSources {
  /// NAME[,param=value…] or FILE.lua[:NAME][,param=value…]. "all" is every rule of the
  /// catalog that requires no parameter.
  std::vector<std::string> specs = {};
  std::string config = {};  ///< A file of DebugRuleConfigurations. Empty: none.
};

/// The rules that can run, with every error and warning in what was asked for. No two rules have
/// the same name. A rule with an error is left out.
struct LoadedRules {
  std::vector<RuleConfiguration> rules;
  std::vector<RuleProblem> errors;
  std::vector<RuleProblem> warnings;
};

/// Loads the configuration file first, then the SPECs in their order. Each Lua file is read once.
/// No run is opened and nothing is thrown: every mistake is in the result.
LoadedRules load_rules(const RuleSources& sources, const RuleCatalog& catalog,
                       const RuleFileReader& read_file);

}  // namespace cupel
