#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_needs.h"
#include "lua_state.h"
#include "rule_definition.h"
#include "rule_source.h"

namespace cupel::lua {

/// A file of rules that has been run, in a state of its own: its rules are defined.
class RuleScript {
 public:
  /// Throws ScriptError, or UsageError for a file that defines no rule. `print` takes what the
  /// script prints; `seed` is what its random numbers follow from.
  RuleScript(std::shared_ptr<const RuleSource> source, std::function<void(std::string_view)> print,
             std::uint64_t seed);

  const RuleSource& source() const noexcept { return *source_; }
  LuaState& state() noexcept { return state_; }
  const std::vector<RuleDefinition>& definitions() const noexcept { return definitions_; }

  /// Pushes the table that a rule was defined by.
  void push_definition(std::size_t rule);

  /// What the rule says of its needs, with these values of its parameters.
  RuleNeeds needs(std::size_t rule, const ParameterValues& values);

  /// Calls `work(lua)` through the door, within the limits; what it throws comes out as an error of
  /// the script.
  void protect(const std::function<void(lua_State*)>& work);

 private:
  static int collect(lua_State* lua);
  RuleNeeds read_needs(lua_State* lua, std::size_t rule, const ParameterValues& values);
  std::shared_ptr<const RuleSource> source_;
  LuaState state_;
  std::vector<RuleDefinition> definitions_;
};

}  // namespace cupel::lua
