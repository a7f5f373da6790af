#include "declared_rule.h"

#include <cstdint>
#include <utility>

#include "arguments.h"
#include "declared_needs.h"
#include "declared_parameters.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kMostOtherTrials = 100;
constexpr std::size_t kLongestSummary = 1000;

void check_functions(const NamedArguments& fields, const Mistakes& mistakes) {
  // A misspelt key is one mistake, and not a missing key besides.
  if (!fields.has("invoke_at_step") && !mistakes.suggests("invoke_at_step"))
    fields.report("invoke_at_step", "is not given: function(self, trial, step) ... end");
  for (const char* key : {"invoke_at_step", "required", "on_tick", "on_end"}) fields.function(key);
}

// The name that begins messages.
std::string definition_name(const DeclaredRule& rule) {
  return rule.definition.name.empty() ? "rule" : rule.definition.name;
}

// Needs that are a function are read when the parameters are known.
void take_needs(lua_State* lua, const NamedArguments& fields, DeclaredRule& rule,
                Mistakes& mistakes) {
  if (!fields.push("needs")) return;
  const int needs = lua_gettop(lua);
  const Mistakes::Inside inside(mistakes, "needs");
  rule.has_needs_function = lua_isfunction(lua, needs);
  if (lua_istable(lua, needs))
    rule.needs = read_needs(lua, needs, definition_name(rule), mistakes);
  else if (!rule.has_needs_function)
    mistakes.add("", "rule: needs is a " + std::string(luaL_typename(lua, needs)) +
                         ", not a function or a table");
  lua_settop(lua, needs - 1);
}

}  // namespace

DeclaredRule read_declared_rule(lua_State* lua, int table, Mistakes& mistakes) {
  DeclaredRule rule;
  RuleDefinition& definition = rule.definition;
  const NamedArguments fields(lua, table, "rule",
                              {"name", "summary", "params", "needs", "other_trials",
                               "invoke_at_step", "required", "on_tick", "on_end"},
                              &mistakes);
  const auto name = fields.text("name");
  if (name && is_identifier(*name))
    definition.name = *name;
  else if (!fields.has("name") && !mistakes.suggests("name"))
    fields.report("name", "is not given");
  else if (name)
    fields.report("name",
                  "is to be letters, digits and '_', 64 at most, and not to begin with a digit");
  definition.summary = fields.text("summary").value_or("").substr(0, kLongestSummary + 1);
  if (definition.summary.size() > kLongestSummary)
    fields.report("summary", "is longer than 1000 bytes");
  check_functions(fields, mistakes);
  take_needs(lua, fields, rule, mistakes);
  const std::int64_t others = fields.integer("other_trials").value_or(0);
  if (others < 0 || others > kMostOtherTrials)
    fields.report("other_trials", "is to be from 0 to 100");
  definition.other_trials = static_cast<std::size_t>(others);
  definition.parameters = read_declared_parameters(lua, table, mistakes);
  return rule;
}

}  // namespace cupel::scripting_detail
