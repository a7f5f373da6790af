#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/rule_parameter.h"
#include "declared_rule.h"
#include "lua_state.h"
#include "mistakes.h"
#include "rule_source.h"

namespace cupel::scripting_detail {

class PrintedLines;

/// A file of rules that was run in a Lua state of its own, with the rules that it returned.
///
/// The state first serves the file: its run, the examination of what it returned, and needs(). One
/// rule may take it over by begin(), and judges in it from then on. One thread uses it at a time.
class RuleScript {
 public:
  /// Runs the file. Its mistakes are not thrown: see problems(). Throws ScriptError where the
  /// limits have no room for a state.
  explicit RuleScript(std::shared_ptr<const RuleSource> source);
  RuleScript(const RuleScript&) = delete;
  RuleScript& operator=(const RuleScript&) = delete;

  const RuleSource& source() const noexcept { return *source_; }
  const std::shared_ptr<const RuleSource>& shared_source() const noexcept { return source_; }
  LuaState& state() noexcept { return state_; }
  /// The rules in the order of the file. Empty where the file has a mistake.
  const std::vector<DeclaredRule>& rules() const noexcept { return rules_; }
  /// Returns every mistake in the file. Empty: the file has at least one rule.
  std::vector<RuleProblem> problems() const { return problems_of(mistakes_, *source_); }
  /// Throws unless rule number `rule` is called `name`: the error of the run, or UsageError.
  void require_rule(std::size_t rule, const std::string& name) const;

  /// Computes the needs of a rule, which are no needs where it declares none. Throws ScriptError
  /// where its function fails.
  RuleNeeds needs(std::size_t rule, const ParameterValues& values);

  /// Hands the state over to a rule: lines that were printed so far and those that follow go to the
  /// log with its name, and random numbers follow from its name.
  void begin(const std::string& rule);

  /// Pushes the table that a rule was defined by.
  void push_definition(std::size_t rule);

  /// Calls `work(lua)` through the door, within the limits; what it throws comes out as an error of
  /// the script.
  void protect(const std::function<void(lua_State*)>& work);

 private:
  // A call of cupel.rule while the file ran.
  struct MadeRule {
    CallSite site;
    bool is_table = true;
    std::optional<DeclaredRule> rule = std::nullopt;
  };
  static int make_rule(lua_State* lua);
  static int examine(lua_State* lua);
  void add_library(lua_State* lua);
  void take_made(lua_State* lua);
  bool run();
  void take_error(const ScriptError& error);
  void read_made(lua_State* lua);
  void read_results(lua_State* lua, int count);
  void read_result(lua_State* lua, std::size_t entry);
  RuleNeeds call_needs(lua_State* lua, std::size_t rule, const ParameterValues& values);

  std::shared_ptr<const RuleSource> source_;
  std::shared_ptr<PrintedLines> printed_;
  LuaState state_;
  Mistakes mistakes_;
  std::optional<ScriptError> error_;  // of the run of the file
  bool has_run_ = false;              // up to its end
  bool is_examined_ = false;
  bool has_too_many_ = false;  // calls of cupel.rule
  std::vector<MadeRule> made_;
  std::vector<DeclaredRule> rules_;
  std::vector<std::size_t> tables_;  // of rules_, as numbers of made_
};

}  // namespace cupel::scripting_detail
