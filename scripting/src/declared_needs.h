#pragma once

#include <string>

#include "cupel/rules/rule_needs.h"
#include "lua_state.h"
#include "mistakes.h"

namespace cupel::scripting_detail {

/// Reads the needs of a rule, which are a table or a list of tables at the place `needs` of the
/// stack, and adds each mistake in them. `rule` begins each message.
RuleNeeds read_needs(lua_State* lua, int needs, const std::string& rule, Mistakes& mistakes);

}  // namespace cupel::scripting_detail
