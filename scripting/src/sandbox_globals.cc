// The table of globals: only what is there can be read, and nothing new can be set once the file
// was read. Functions are looked through beforehand, so that a misspelt name is told before
// anything is judged and not when it is come to.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "global_uses.h"
#include "held.h"
#include "sandbox.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

constexpr std::size_t kLongestGlobal = 64;
constexpr std::int64_t kLookingForNames = 2000;
constexpr std::size_t kMostMistakes = 5;

struct Globals {
  bool are_closed = false;
  std::vector<GlobalUse> uses = {};  // of globals that were not there when they were noted
  std::vector<Held> held = {};       // for these
};

// Where it is in the registry.
char globals_key;

Globals& globals_of(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &globals_key);
  auto* const globals = static_cast<Globals*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  return *globals;
}

std::vector<std::string> names_of(lua_State* lua, int table) {
  constexpr std::size_t kMost = 500;
  std::vector<std::string> names;
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) == LUA_TSTRING && lua_rawlen(lua, -1) <= kLongestGlobal)
      names.emplace_back(lua_tostring(lua, -1));
    if (names.size() == kMost) break;
  }
  // The table's order is another one at each run.
  std::sort(names.begin(), names.end());
  return names;
}

std::string no_global(lua_State* lua, const std::string& name, int globals) {
  LuaState::of(lua).charge(lua, kLookingForNames);
  return "there is no global " + name + did_you_mean(name, names_of(lua, globals));
}

// Of the table of globals, whose metatable no script can reach.
int missing_global(lua_State* lua) {
  throw UsageError(no_global(lua, std::string(push_text(lua, 2).substr(0, kLongestGlobal)), 1));
}

std::string new_global_text(const std::string& name) {
  return name + " is a new global; write local before it, or keep it in self";
}

int new_global(lua_State* lua) {
  if (globals_of(lua).are_closed) {
    throw UsageError(new_global_text(std::string(push_text(lua, 2).substr(0, kLongestGlobal))));
  }
  lua_rawset(lua, 1);
  return 0;
}

// What a use will be told when it is come to, if it ever is: before that it is told here.
int check_uses(lua_State* lua) {
  Globals& globals = globals_of(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  std::string mistakes;
  std::size_t count = 0;
  for (const GlobalUse& use : globals.uses) {
    push_string(lua, use.name);
    const bool is_there = lua_rawget(lua, 1) != LUA_TNIL;
    lua_pop(lua, 1);
    if (is_there) continue;
    if (++count > kMostMistakes) break;
    const std::string name = use.name.substr(0, kLongestGlobal);
    mistakes += (mistakes.empty() ? "" : "; ") + use.chunk + ":" + std::to_string(use.line) + ": " +
                (use.is_set ? new_global_text(name) : no_global(lua, name, 1));
  }
  globals.uses.clear();
  globals.held.clear();
  if (count > 0) throw UsageError(mistakes);
  globals.are_closed = true;
  return 0;
}

// Of a function and its chunk's name.
int note_function(lua_State* lua) {
  const std::string chunk(check_text(lua, 2));
  lua_settop(lua, 1);
  note_uses(lua, chunk);
  return 0;
}

}  // namespace

void guard_globals(lua_State* lua) {
  auto globals = std::make_shared<Globals>();
  lua_pushlightuserdata(lua, globals.get());
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &globals_key);
  LuaState::of(lua).keep(std::move(globals));
  lua_newtable(lua);
  set_function<missing_global>(lua, "__index");
  set_function<new_global>(lua, "__newindex");
  lua_setmetatable(lua, -2);
}

bool globals_are_closed(lua_State* lua) { return globals_of(lua).are_closed; }

void note_uses(lua_State* lua, const std::string& chunk) {
  Globals& noted = globals_of(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  const int globals = lua_gettop(lua);
  lua_pushvalue(lua, -2);
  for (GlobalUse& use : global_uses(lua, chunk)) {
    push_string(lua, use.name);
    const bool is_there = lua_rawget(lua, globals) != LUA_TNIL;
    lua_pop(lua, 1);
    if (is_there) continue;
    noted.held.emplace_back(lua, 2 * sizeof use + use.name.size() + use.chunk.size());
    noted.uses.push_back(std::move(use));
  }
  lua_settop(lua, globals - 1);
}

void note_globals(LuaState& state, const std::string& chunk) {
  lua_State* const lua = state.get();
  push_function<note_function>(lua);
  lua_pushvalue(lua, -2);
  push_string(lua, chunk);
  state.call(2, 0, chunk);
}

void close_globals(LuaState& state) {
  push_function<check_uses>(state.get());
  state.call(0, 0, "globals");
}

}  // namespace cupel::lua
