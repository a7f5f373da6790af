#pragma once

#include <string_view>
#include <vector>

#include "cupel/rules/rule_parameter.h"
#include "lua_state.h"
#include "mistakes.h"

namespace cupel::scripting_detail {

/// Reads `params` of the table that a rule is defined by, and adds each mistake in it. Returns the
/// parameters in the order of their names.
std::vector<Parameter> read_declared_parameters(lua_State* lua, int table, Mistakes& mistakes);

/// Whether a text is a name of letters, digits and '_' that does not begin with a digit, 64 at
/// most.
bool is_identifier(std::string_view text) noexcept;

}  // namespace cupel::scripting_detail
