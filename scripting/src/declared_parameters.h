#pragma once

#include <string_view>
#include <vector>

#include "lua_state.h"
#include "rule_parameters.h"

namespace cupel::lua {

/// Reads `params` of the table that a rule is defined by: what is declared, by name. Throws
/// UsageError where it is wrong.
std::vector<ParameterDefinition> read_parameters(lua_State* lua, int table);

/// Whether a text is a name of letters, digits and '_' that does not begin with a digit, 64 at
/// most.
bool is_identifier(std::string_view text) noexcept;

}  // namespace cupel::lua
