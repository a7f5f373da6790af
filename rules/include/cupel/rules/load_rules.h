#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_configuration.h"
#include "cupel/rules/rule_problem.h"
#include "cupel/rules/rule_spec.h"

namespace cupel {

/// Loads the rules that a user asks for: by SPEC, in a configuration file, from files of rules.
///
///     const LoadedRules loaded = load_rules({.specs = {"VanishingGradient,threshold=1e-6"}},
///                                           builtin_rules(), {lua_rule_reader()});
///     for (const RuleProblem& error : loaded.errors) std::cerr << to_text(error) << '\n';
///     for (const RuleConfiguration& rule : loaded.rules) runner.add(rule);

/// The definitions in a file of rules, with all that is wrong in it.
struct RuleFile {
  std::vector<std::shared_ptr<const RuleDefinition>> definitions;
  std::vector<RuleProblem> errors;
  std::vector<RuleProblem> warnings;
  bool is_readable = true;  ///< False: the only error is why the file could not be read.
  /// Names in the file that are no rules, with the error of a user who asks for one as a rule.
  std::map<std::string, RuleProblem, std::less<>> other_names = {};

  /// Returns the rule of that name; an exact name wins over its other form. Null: there is none.
  std::shared_ptr<const RuleDefinition> find(std::string_view name) const;
};
/// Reads the files of rules in one language.
struct RuleFileReader {
  /// The ending of the files' names: ".lua".
  std::string ending;
  /// Reads a file. Throws nothing but what is no fault of the file (std::bad_alloc).
  std::function<RuleFile(const std::string& path)> read;
};
/// The languages that a program knows. The first reader also reads the files whose names have the
/// ending of no reader.
using RuleFileReaders = std::vector<RuleFileReader>;

/// Reads a file by the reader of its ending.
RuleFile read_rule_file(const std::string& path, const RuleFileReaders& readers);
/// Does the same as parse_rule_spec(), with the endings of the readers.
RuleSpec parse_rule_spec(std::string_view text, const RuleFileReaders& readers);

/// Where rules are to be loaded from.
struct RuleSources {
  /// NAME[,param=value…] or FILE[:NAME][,param=value…], where FILE has the ending of a reader.
  /// "all" is every rule of the catalog that requires no parameter.
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

/// Loads the configuration file first, then the SPECs in their order. Each file of rules is read
/// once. No run is opened and nothing is thrown: every mistake is in the result.
LoadedRules load_rules(const RuleSources& sources, const RuleCatalog& catalog,
                       const RuleFileReaders& readers);
/// Loads one rule whose SPEC was read, or put together by a program.
LoadedRules load_rule(const RuleSpec& spec, const RuleCatalog& catalog,
                      const RuleFileReaders& readers);

}  // namespace cupel
