#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_parameter.h"
#include "lua_state.h"
#include "mistakes.h"

namespace cupel::lua {

/// The parameters that a rule declares.
struct DeclaredParameters {
  std::vector<Parameter> schema = {};  ///< By name.
  /// The parameters whose default is the empty text, which in the schema is no default.
  std::vector<std::string> empty_texts = {};
};

/// Reads `params` of the table that a rule is defined by, and adds each mistake in it.
DeclaredParameters read_declared_parameters(lua_State* lua, int table, Mistakes& mistakes);

/// Whether a text is a name of letters, digits and '_' that does not begin with a digit, 64 at
/// most.
bool is_identifier(std::string_view text) noexcept;

}  // namespace cupel::lua
