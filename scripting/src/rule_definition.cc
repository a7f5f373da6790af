#include "rule_definition.h"

#include <cstdint>
#include <string>

#include "arguments.h"
#include "cupel/core/error.h"
#include "declared_needs.h"
#include "declared_parameters.h"

namespace cupel::lua {
namespace {

constexpr std::int64_t kMostOtherTrials = 100;
constexpr std::size_t kLongestSummary = 1000;

// The type of a field of the table.
int type_of(lua_State* lua, int table, const char* key) {
  lua_pushstring(lua, key);
  const int type = lua_rawget(lua, table);
  lua_pop(lua, 1);
  return type;
}

void check_functions(lua_State* lua, int table, const NamedArguments& said) {
  if (!said.has("invoke_at_step"))
    said.fail("invoke_at_step", "is not given: function(self, trial, step) ... end");
  for (const char* key : {"invoke_at_step", "required", "on_tick", "on_end"})
    if (const int type = type_of(lua, table, key); type != LUA_TFUNCTION && type != LUA_TNIL)
      said.fail(key, "is a " + std::string(lua_typename(lua, type)) + ", not a function");
}

// Needs that follow from parameters are read when those are known.
void check_needs(lua_State* lua, int table, const NamedArguments& said, const std::string& name) {
  lua_pushliteral(lua, "needs");
  const int type = lua_rawget(lua, table);
  if (type == LUA_TTABLE)
    read_needs(lua, lua_gettop(lua), name);
  else if (type != LUA_TNIL && type != LUA_TFUNCTION)
    said.fail("needs",
              "is a " + std::string(lua_typename(lua, type)) + ", not a function or a table");
  lua_pop(lua, 1);
}

}  // namespace

RuleDefinition read_definition(lua_State* lua, int table) {
  if (!lua_istable(lua, table)) throw UsageError("rule takes a table, {name = ..., ...}");
  RuleDefinition definition;
  const NamedArguments said(lua, table, "rule",
                            {"name", "summary", "params", "needs", "other_trials", "invoke_at_step",
                             "required", "on_tick", "on_end"});
  LuaRuleInfo& info = definition.info;
  info.name = said.required_text("name");
  if (!is_identifier(info.name))
    said.fail("name",
              "is to be letters, digits and '_', 64 at most, and not to begin with a digit");
  info.summary = said.text("summary").value_or("");
  if (info.summary.size() > kLongestSummary) said.fail("summary", "is longer than 1000 bytes");
  check_functions(lua, table, said);
  check_needs(lua, table, said, info.name);
  definition.has_needs = said.has("needs");
  const std::int64_t others = said.integer("other_trials").value_or(0);
  if (others < 0 || others > kMostOtherTrials) said.fail("other_trials", "is to be from 0 to 100");
  info.other_trials = static_cast<std::size_t>(others);
  definition.parameters = read_parameters(lua, table);
  for (const ParameterDefinition& parameter : definition.parameters)
    info.parameters.push_back(parameter.info);
  return definition;
}

}  // namespace cupel::lua
