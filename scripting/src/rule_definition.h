#pragma once

#include <cstddef>
#include <vector>

#include "cupel/scripting/lua_rule_file.h"
#include "lua_state.h"
#include "rule_parameters.h"

namespace cupel::lua {

/// What `cupel.rule{...}` was given, but for its functions.
struct RuleDefinition {
  LuaRuleInfo info;
  std::vector<ParameterDefinition> parameters;
  bool has_needs = false;
};

/// Reads the table that a rule is defined by; throws UsageError where it is none.
RuleDefinition read_definition(lua_State* lua, int table);

}  // namespace cupel::lua
