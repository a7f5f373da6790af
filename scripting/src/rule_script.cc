#include "rule_script.h"

#include <algorithm>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/rules/number_text.h"
#include "data_error.h"
#include "declared_needs.h"
#include "rule_requirements.h"
#include "sandbox.h"
#include "sandbox_functions.h"
#include "trial_object.h"
#include "value_object.h"

namespace cupel::lua {
namespace {

constexpr lua_Unsigned kMostRules = 100;
constexpr std::size_t kLongestSign = 20;

// The tables that cupel.rule was given, as keys; those that the file returned, as a list.
char made_key;
char rules_key;

// cupel.rule{...}: mistakes are errors of the line that makes it.
int make_rule(lua_State* lua) {
  lua_settop(lua, 1);
  read_definition(lua, 1);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &made_key);
  lua_pushvalue(lua, 1);
  lua_pushboolean(lua, 1);
  lua_rawset(lua, -3);
  lua_settop(lua, 1);
  return 1;
}

// cupel.text(x): a number as messages have it.
int number_text(lua_State* lua) {
  push_string(lua, short_text(luaL_checknumber(lua, 1)));
  return 1;
}

// cupel.comparison(x, "<", threshold): so short, unless both sides would then look the same.
int comparison(lua_State* lua) {
  const std::string_view sign = check_text(lua, 2).substr(0, kLongestSign);
  push_string(lua, comparison_text(luaL_checknumber(lua, 1), sign, luaL_checknumber(lua, 3)));
  return 1;
}

void add_library(lua_State* lua) {
  lua_newtable(lua);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &made_key);
  add_data_errors(lua);
  add_trial_types(lua);
  Requirements::add_type(lua);
  lua_newtable(lua);
  set_function<make_rule>(lua, "rule");
  set_function<number_text>(lua, "text");
  set_function<comparison>(lua, "comparison");
  add_value_functions(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_insert(lua, -2);
  lua_pushliteral(lua, "cupel");
  lua_insert(lua, -2);
  lua_rawset(lua, -3);
}

int run_work(lua_State* lua) {
  const auto& work = *static_cast<const std::function<void(lua_State*)>*>(lua_touserdata(lua, 1));
  lua_settop(lua, 0);
  work(lua);
  return 0;
}

bool is_rule(lua_State* lua, int table) {
  table = lua_absindex(lua, table);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &made_key);
  lua_pushvalue(lua, table);
  const bool is_one = lua_rawget(lua, -2) == LUA_TBOOLEAN;
  lua_pop(lua, 2);
  return is_one;
}

}  // namespace

RuleScript::RuleScript(std::shared_ptr<const RuleSource> source,
                       std::function<void(std::string_view)> print, std::uint64_t seed)
    : source_(std::move(source)), state_(source_->limits()) {
  make_sandbox(
      state_,
      {.print = std::move(print),
       .read_module = [all = source_](const std::string& module) { return all->module(module); },
       .seed = seed});
  protect(add_library);
  // Its results, which are those of a file, stay on the stack in their place.
  lua_pushcfunction(state_.get(), &guarded<&RuleScript::collect>);
  lua_pushlightuserdata(state_.get(), this);
  const int below = lua_gettop(state_.get());
  state_.load(source_->text(), source_->chunk());
  note_globals(state_, source_->chunk());
  state_.call(0, LUA_MULTRET, source_->chunk());
  state_.call(lua_gettop(state_.get()) - below + 1, 0, source_->chunk());
  close_globals(state_);
}

// Of the object, and what the file returns: rules, or a list of them.
int RuleScript::collect(lua_State* lua) {
  auto& self = *static_cast<RuleScript*>(lua_touserdata(lua, 1));
  lua_remove(lua, 1);
  const int count = lua_gettop(lua);
  if (!lua_istable(lua, 1))
    throw UsageError(std::string("the file returns ") +
                     (count == 0 ? "nothing" : std::string("a ") + luaL_typename(lua, 1)) +
                     "; it is to end with return cupel.rule{...}, or with a list of rules");
  if (count > 1 || is_rule(lua, 1)) {
    lua_createtable(lua, count, 0);
    lua_insert(lua, 1);
    for (int i = count; i > 0; --i) lua_rawseti(lua, 1, i);
  }
  const lua_Unsigned size = lua_rawlen(lua, 1);
  if (size == 0) throw UsageError("the file returns a table that cupel.rule did not make");
  if (size > kMostRules) throw UsageError("the file returns more than 100 rules");
  for (lua_Unsigned i = 1; i <= size; ++i) {
    lua_rawgeti(lua, 1, static_cast<lua_Integer>(i));
    if (!lua_istable(lua, -1) || !is_rule(lua, -1))
      throw UsageError("the file returns a list of which entry " + std::to_string(i) +
                       " was not made by cupel.rule");
    RuleDefinition definition = read_definition(lua, lua_gettop(lua));
    const std::string& name = definition.info.name;
    if (std::any_of(self.definitions_.begin(), self.definitions_.end(),
                    [&](const RuleDefinition& other) { return other.info.name == name; }))
      throw UsageError("the file returns two rules of the name " + name);
    self.definitions_.push_back(std::move(definition));
    lua_pop(lua, 1);
  }
  lua_pushvalue(lua, 1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &rules_key);
  return 0;
}

void RuleScript::push_definition(std::size_t rule) {
  lua_rawgetp(state_.get(), LUA_REGISTRYINDEX, &rules_key);
  lua_rawgeti(state_.get(), -1, static_cast<lua_Integer>(rule) + 1);
  lua_remove(state_.get(), -2);
}

RuleNeeds RuleScript::needs(std::size_t rule, const ParameterValues& values) {
  RuleNeeds needs;
  if (definitions_[rule].has_needs)
    protect([&](lua_State* lua) { needs = read_needs(lua, rule, values); });
  return needs;
}

RuleNeeds RuleScript::read_needs(lua_State* lua, std::size_t rule, const ParameterValues& values) {
  push_definition(rule);
  lua_pushliteral(lua, "needs");
  if (lua_rawget(lua, -2) != LUA_TFUNCTION)
    return lua::read_needs(lua, lua_gettop(lua), definitions_[rule].info.name);
  lua_Debug function{};
  lua_pushvalue(lua, -1);
  lua_getinfo(lua, ">S", &function);
  push_parameters(lua, definitions_[rule].parameters, values);
  lua_call(lua, 1, 1);
  try {
    return lua::read_needs(lua, lua_gettop(lua), definitions_[rule].info.name);
  } catch (const UsageError& error) {
    // Nothing of the script runs any more that would tell the line.
    throw UsageError(std::string(function.short_src) + ":" + std::to_string(function.linedefined) +
                     ": " + error.what());
  }
}

void RuleScript::protect(const std::function<void(lua_State*)>& work) {
  lua_pushcfunction(state_.get(), &guarded<run_work>);
  lua_pushlightuserdata(state_.get(), const_cast<std::function<void(lua_State*)>*>(&work));
  state_.call(1, 0, source_->chunk());
}

}  // namespace cupel::lua
