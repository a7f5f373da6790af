#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cupel/rules/rule_definition.h"
#include "cupel/rules/rule_needs.h"
#include "lua_state.h"
#include "mistakes.h"

namespace cupel::scripting_detail {

/// The table that a script passed to cupel.rule, but for the functions of the rule.
struct DeclaredRule {
  RuleDefinition definition;  ///< Without its functions, its file and its fingerprint.
  /// The needs, where they are a table.
  std::optional<RuleNeeds> needs = std::nullopt;
  /// Whether the needs are a function of the parameters.
  bool has_needs_function = false;
};

/// Reads the table of a rule at the place `table` of the stack, and adds each mistake in it.
DeclaredRule read_declared_rule(lua_State* lua, int table, Mistakes& mistakes);

}  // namespace cupel::scripting_detail
