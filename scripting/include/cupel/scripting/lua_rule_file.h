#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/parameters.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/scripting/script_error.h"
#include "cupel/scripting/script_limits.h"

namespace cupel {

/// What a file says of one of its rules.
struct LuaRuleInfo {
  struct Parameter {
    std::string name = {};
    std::string kind = {};           ///< "float", "int", "bool", "list", "text"
    std::string default_value = {};  ///< "" where there is none.
    std::string help = {};
  };
  std::string name;
  std::string summary;  ///< What it fires on, in one line; may be empty.
  std::vector<Parameter> parameters;
  std::size_t other_trials = 0;  ///< So many runs to compare with it needs at least.
};

/// A file of rules in Lua: read, checked and run once before any of its rules is made, so that
/// mistakes show before a step is judged.
///
///     const LuaRuleFile file("rules/gradients.lua");
///     runner.add(file.make(*trial, "GradientTooLarge", {{"threshold", "5"}}));
///
/// The file is run again, in a Lua state of its own, for every rule that is made. What it and the
/// files beside it held when this object was made is what all of them run.
class LuaRuleFile {
 public:
  /// Reads `path`, a file or an object of a store ("s3://…" where this build can). Throws
  /// ScriptError with chunk and line for a script that is wrong, UsageError for a file that cannot
  /// be read or has no rules.
  explicit LuaRuleFile(const std::string& path, const ScriptLimits& limits = {});
  ~LuaRuleFile();
  LuaRuleFile(LuaRuleFile&&) noexcept;
  LuaRuleFile& operator=(LuaRuleFile&&) noexcept;

  const std::string& path() const noexcept;
  /// In the order in which the file returns them.
  const std::vector<LuaRuleInfo>& rules() const noexcept;
  /// The rule of that name, in either form ("GradientTooLarge", "gradient_too_large"); the only one
  /// for an empty name. Throws UsageError that says which there are.
  const LuaRuleInfo& rule(std::string_view name = {}) const;

  /// What a run must have saved to feed the rule. Throws UsageError for bad parameters, all at
  /// once.
  RuleNeeds needs(std::string_view name, const RuleParameters& parameters = {}) const;

  /// Makes a rule that owns the other runs that it compares with. Throws what needs() throws.
  std::unique_ptr<Rule> make(Trial& base, std::string_view name,
                             const RuleParameters& parameters = {},
                             std::vector<std::unique_ptr<Trial>> others = {}) const;

  /// Tells the texts of this file from those of another.
  std::string fingerprint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
