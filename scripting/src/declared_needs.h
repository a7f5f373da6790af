#pragma once

#include <string>

#include "cupel/rules/rule_needs.h"
#include "lua_state.h"

namespace cupel::lua {

/// Reads what a rule says of its needs: a table, or a list of tables. Throws UsageError where it is
/// wrong.
RuleNeeds read_needs(lua_State* lua, int table, const std::string& rule);

}  // namespace cupel::lua
