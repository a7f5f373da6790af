#pragma once

#include "lua_state.h"
#include "rule_context.h"

namespace cupel::scripting_detail {

/// Pushes the table of what scripts call as `self:name(...)`: issue, skip, not_applicable,
/// ask_again, end_rule, saw_nan, explain and explaining. Self is on top. Borrows the context, which
/// lives as long as the state.
void push_self_methods(lua_State* lua, RuleContext& context);

}  // namespace cupel::scripting_detail
