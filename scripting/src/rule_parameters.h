#pragma once

#include "cupel/rules/rule_parameter.h"
#include "declared_rule.h"
#include "lua_state.h"

namespace cupel::scripting_detail {

/// Pushes the table self.params, which refers to the rule: that has to live as long as the state of
/// the script. A script that reads a parameter from it that the rule does not
/// declare gets an error, which names the nearest one; a declared one without a value is nil.
void push_parameters(lua_State* lua, const DeclaredRule& rule, const ParameterValues& values);

}  // namespace cupel::scripting_detail
