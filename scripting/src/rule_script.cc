// Runs a file of rules and reads the rules that it returns. cupel.rule only registers a table with
// the line of the call. When the file has been run, all tables are read, then what the file
// returned, then the uses of globals: so one run finds every mistake of the file. An error of the
// run itself is one mistake among them. Everything of the script runs through the door of LuaState,
// within its limits; one thread uses an object.

#include "rule_script.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "data_error.h"
#include "declared_needs.h"
#include "printed_lines.h"
#include "rule_parameters.h"
#include "rule_requirements.h"
#include "sandbox.h"
#include "sandbox_functions.h"
#include "sol_binding.h"
#include "trial_object.h"
#include "value_object.h"

namespace cupel::scripting_detail {
namespace {

constexpr lua_Unsigned kMostRules = 100;
constexpr std::size_t kLongestSign = 20;
constexpr std::int64_t kMaking = 100;
constexpr int kLevelsOfCall = 20;

// The tables that cupel.rule was given: their numbers by table, and the tables by number, from 1.
// A table beyond the most has the number 0.
char made_key;

// cupel.text(x): a number as messages have it.
std::string number_text(Argument<LuaNumber, "x"> x) { return short_text((*x).value); }

// cupel.comparison(x, "<", threshold): so short, unless both sides would then look the same.
std::string comparison(Argument<LuaNumber, "x"> x, Argument<std::string_view, "sign"> sign,
                       Argument<LuaNumber, "threshold"> threshold) {
  return comparison_text((*x).value, (*sign).substr(0, kLongestSign), (*threshold).value);
}

int run_work(lua_State* lua) {
  const auto& work = *static_cast<const std::function<void(lua_State*)>*>(lua_touserdata(lua, 1));
  lua_settop(lua, 0);
  work(lua);
  return 0;
}

// The line of a script that called the function of ours that runs.
CallSite site_of_call(lua_State* lua) {
  lua_Debug caller{};
  for (int level = 1; level < kLevelsOfCall && lua_getstack(lua, level, &caller) != 0; ++level) {
    lua_getinfo(lua, "Sl", &caller);
    if (caller.currentline <= 0) continue;
    const std::string_view chunk(caller.source, caller.srclen);
    return {std::string(chunk.substr(chunk.starts_with('@') ? 1 : 0)), {caller.currentline}};
  }
  return {};
}

// The number of a table that cupel.rule was given; -1 of any other value.
lua_Integer number_of_rule(lua_State* lua, int value) {
  value = lua_absindex(lua, value);
  if (!lua_istable(lua, value)) return -1;
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &made_key);
  lua_pushvalue(lua, value);
  const lua_Integer number = lua_rawget(lua, -2) == LUA_TNUMBER ? lua_tointeger(lua, -1) : -1;
  lua_pop(lua, 2);
  return number;
}

// The same for every run of the same rule.
std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 0xcbf29ce484222325U;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return seed;
}

}  // namespace

RuleScript::RuleScript(std::shared_ptr<const RuleSource> source)
    : source_(std::move(source)),
      printed_(std::make_shared<PrintedLines>()),
      state_(source_->limits()) {
  make_sandbox(
      state_,
      {.print = [printed = printed_](std::string_view line) { printed->add(line); },
       .read_module = [all = source_](const std::string& module) { return all->module(module); }});
  protect([this](lua_State* lua) { add_library(lua); });
  // The results of the file stay on the stack in their place: they are arguments of examine().
  lua_State* const lua = state_.get();
  lua_pushcfunction(lua, &guarded<&RuleScript::examine>);
  lua_pushlightuserdata(lua, this);
  const int below = lua_gettop(lua);
  has_run_ = run();
  if (!has_run_) lua_settop(lua, below);
  try {
    state_.call(lua_gettop(lua) - below + 1, 0, source_->chunk());
    if (has_run_) close_globals(state_, mistakes_);
  } catch (const ScriptError& error) {
    take_error(error);
  }
  is_examined_ = true;
  made_.clear();
  if (!mistakes_.empty()) rules_.clear();
}

void RuleScript::add_library(lua_State* lua) {
  lua_newtable(lua);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &made_key);
  add_data_errors(lua);
  add_trial_types(lua);
  Requirements::add_type(lua);
  lua_newtable(lua);
  lua_pushlightuserdata(lua, this);
  push_function<&RuleScript::make_rule>(lua, 1);
  lua_setfield(lua, -2, "rule");
  bind<&number_text>(lua, "text");
  bind<&comparison>(lua, "comparison");
  add_value_functions(lua);
  LuaState::push_globals(lua);
  lua_insert(lua, -2);
  lua_pushliteral(lua, "cupel");
  lua_insert(lua, -2);
  lua_rawset(lua, -3);
}

// Returns whether the file came to its end, with its results on the stack.
bool RuleScript::run() {
  try {
    state_.load(source_->text(), source_->chunk());
    note_globals(state_, source_->chunk());
    state_.call(0, LUA_MULTRET, source_->chunk());
    return true;
  } catch (const ScriptError& error) {
    take_error(error);
    return false;
  }
}

void RuleScript::take_error(const ScriptError& error) {
  mistakes_.set_site({error.chunk, {error.line}});
  mistakes_.add("", error.problem);
  if (!error_) error_.emplace(error);
}

// cupel.rule{...}: what is wrong in the table is found when the file has been run.
int RuleScript::make_rule(lua_State* lua) {
  auto& self = *static_cast<RuleScript*>(lua_touserdata(lua, lua_upvalueindex(1)));
  LuaState::of(lua).charge(lua, kMaking);
  if (self.is_examined_)
    throw UsageError("cupel.rule defines rules while the file is read, and not afterwards");
  lua_settop(lua, 1);
  if (number_of_rule(lua, 1) < 0) self.take_made(lua);
  return 1;
}

// Registers the table on top. A value of another type is replaced by an empty table.
void RuleScript::take_made(lua_State* lua) {
  MadeRule made{.site = site_of_call(lua), .is_table = lua_istable(lua, 1)};
  for (const MadeRule& other : made_)
    if (other.site.chunk == made.site.chunk && other.site.call.line == made.site.call.line)
      ++made.site.call.ordinal;
  const bool is_one_too_many = made_.size() == kMostRules;
  mistakes_.set_site(made.site);
  if (!made.is_table) {
    lua_newtable(lua);
    lua_replace(lua, 1);
    mistakes_.add("", "rule takes a table, {name = ..., ...}");
  } else if (is_one_too_many && !std::exchange(has_too_many_, true)) {
    mistakes_.add("", "the file makes more than 100 rules");
  }
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &made_key);
  lua_pushvalue(lua, 1);
  lua_pushinteger(lua, is_one_too_many ? 0 : static_cast<lua_Integer>(made_.size()) + 1);
  lua_rawset(lua, 2);
  if (!is_one_too_many) {
    lua_pushvalue(lua, 1);
    lua_rawseti(lua, 2, static_cast<lua_Integer>(made_.size()) + 1);
    made_.push_back(std::move(made));
  }
  lua_settop(lua, 1);
}

// Reads the tables of all calls of cupel.rule, and what the file returned. Its arguments are the
// object and the results of the file.
int RuleScript::examine(lua_State* lua) {
  auto& self = *static_cast<RuleScript*>(lua_touserdata(lua, 1));
  lua_remove(lua, 1);
  const int count = lua_gettop(lua);
  luaL_checkstack(lua, LUA_MINSTACK, nullptr);
  self.read_made(lua);
  if (self.has_run_) self.read_results(lua, count);
  return 0;
}

void RuleScript::read_made(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &made_key);
  for (std::size_t i = 0; i < made_.size(); ++i) {
    if (!made_[i].is_table) continue;
    mistakes_.set_site(made_[i].site);
    lua_rawgeti(lua, -1, static_cast<lua_Integer>(i) + 1);
    made_[i].rule = read_declared_rule(lua, lua_gettop(lua), mistakes_);
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
}

// A file returns rules, or a list of them.
void RuleScript::read_results(lua_State* lua, int count) {
  mistakes_.set_site({});
  if (!lua_istable(lua, 1)) {
    mistakes_.add("", std::string("the file returns ") +
                          (count == 0 ? "nothing" : std::string("a ") + luaL_typename(lua, 1)) +
                          "; it is to end with return cupel.rule{...}, or with a list of rules");
    return;
  }
  if (count > 1 || number_of_rule(lua, 1) >= 0) {
    lua_createtable(lua, count, 0);
    lua_insert(lua, 1);
    for (int i = count; i > 0; --i) lua_rawseti(lua, 1, i);
  }
  const lua_Unsigned size = lua_rawlen(lua, 1);
  if (size == 0) mistakes_.add("", "the file returns a table that cupel.rule did not make");
  if (size > kMostRules) {
    mistakes_.add("", "the file returns more than 100 rules");
    return;
  }
  for (lua_Unsigned i = 1; i <= size; ++i) {
    lua_rawgeti(lua, 1, static_cast<lua_Integer>(i));
    read_result(lua, i);
    lua_pop(lua, 1);
  }
}

// Takes the value on top, which is an entry of the list that the file returns.
void RuleScript::read_result(lua_State* lua, std::size_t entry) {
  const lua_Integer number = number_of_rule(lua, -1);
  mistakes_.set_site({});
  if (number < 0) {
    mistakes_.add("", "the file returns a list of which entry " + std::to_string(entry) +
                          " was not made by cupel.rule");
    return;
  }
  const std::size_t table = static_cast<std::size_t>(number) - 1;
  if (number == 0 || !made_[table].rule) return;  // is a mistake by itself
  DeclaredRule rule = *made_[table].rule;
  const std::string& name = rule.definition.name;
  mistakes_.set_site(made_[table].site);
  if (!name.empty() && std::any_of(rules_.begin(), rules_.end(), [&](const DeclaredRule& other) {
        return other.definition.name == name;
      })) {
    mistakes_.add("name", "the file returns two rules of the name " + name);
    return;
  }
  rules_.push_back(std::move(rule));
  tables_.push_back(table + 1);
}

void RuleScript::require_rule(std::size_t rule, const std::string& name) const {
  if (error_) throw *error_;
  if (rule >= rules_.size() || rules_[rule].definition.name != name)
    throw UsageError(source_->path() + ": its rules are others at each run");
}

void RuleScript::begin(const std::string& rule) {
  set_seed(state_, seed_of(rule));
  printed_->begin(rule);
}

void RuleScript::push_definition(std::size_t rule) {
  lua_rawgetp(state_.get(), LUA_REGISTRYINDEX, &made_key);
  lua_rawgeti(state_.get(), -1, static_cast<lua_Integer>(tables_[rule]));
  lua_remove(state_.get(), -2);
}

RuleNeeds RuleScript::needs(std::size_t rule, const ParameterValues& values) {
  RuleNeeds needs = rules_[rule].needs.value_or(RuleNeeds());
  if (!rules_[rule].has_needs_function) return needs;
  printed_->begin_phase();
  protect([&](lua_State* lua) { needs = call_needs(lua, rule, values); });
  return needs;
}

RuleNeeds RuleScript::call_needs(lua_State* lua, std::size_t rule, const ParameterValues& values) {
  push_definition(rule);
  lua_pushliteral(lua, "needs");
  if (lua_rawget(lua, -2) != LUA_TFUNCTION) throw UsageError("rule: needs is no function any more");
  lua_Debug function{};
  lua_pushvalue(lua, -1);
  lua_getinfo(lua, ">S", &function);
  push_parameters(lua, rules_[rule], values);
  lua_call(lua, 1, 1);
  Mistakes mistakes;
  RuleNeeds needs = read_needs(lua, lua_gettop(lua), rules_[rule].definition.name, mistakes);
  if (mistakes.empty()) return needs;
  // Nothing of the script runs any more that would have a line.
  throw UsageError(std::string(function.short_src) + ":" + std::to_string(function.linedefined) +
                   ": " + mistakes.text());
}

void RuleScript::protect(const std::function<void(lua_State*)>& work) {
  lua_pushcfunction(state_.get(), &guarded<run_work>);
  lua_pushlightuserdata(state_.get(), const_cast<std::function<void(lua_State*)>*>(&work));
  state_.call(1, 0, source_->chunk());
}

}  // namespace cupel::scripting_detail
