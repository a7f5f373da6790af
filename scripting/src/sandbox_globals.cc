// The table of globals: a script can read only what is there, and set nothing new once its file was
// read.
//
// The bytecode of a script lists its uses of globals, so that a misspelt name is reported before
// anything is judged. The uses are kept until the file was read; they count against the memory.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "global_uses.h"
#include "held.h"
#include "mistakes.h"
#include "sandbox.h"
#include "sandbox_functions.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestGlobal = 64;
constexpr std::int64_t kLookingForNames = 2000;

struct Globals {
  bool are_closed = false;
  std::vector<GlobalUse> uses = {};  // of globals that were not there when they were noted
  std::vector<Held> held = {};       // for these
};

Globals& globals_of(lua_State* lua) { return LuaState::of(lua).kept<Globals>(); }

std::string no_global(lua_State* lua, const std::string& name, int globals) {
  LuaState::of(lua).charge(lua, kLookingForNames);
  return "there is no global " + name + did_you_mean(name, names_in(lua, globals));
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

// Adds each recorded use of a global that is still not there to the list of mistakes, before
// anything runs that uses it.
int check_uses(lua_State* lua) {
  auto& mistakes = *static_cast<Mistakes*>(lua_touserdata(lua, 1));
  Globals& globals = globals_of(lua);
  LuaState::push_globals(lua);
  for (const GlobalUse& use : globals.uses) {
    if (has_entry(lua, 2, use.name)) continue;
    const std::string name = use.name.substr(0, kLongestGlobal);
    mistakes.set_site({use.chunk, {use.line}});
    mistakes.add("", use.is_set ? new_global_text(name) : no_global(lua, name, 2));
  }
  globals.uses.clear();
  globals.held.clear();
  globals.are_closed = true;
  return 0;
}

// Of a function and a pointer to its chunk's name.
int note_function(lua_State* lua) {
  const auto& chunk = *static_cast<const std::string*>(lua_touserdata(lua, 2));
  lua_settop(lua, 1);
  note_uses(lua, chunk);
  return 0;
}

}  // namespace

void guard_globals(lua_State* lua) {
  LuaState::of(lua).keep(Globals{});
  lua_newtable(lua);
  set_function<missing_global>(lua, "__index");
  set_function<new_global>(lua, "__newindex");
  lua_setmetatable(lua, -2);
}

bool globals_are_closed(lua_State* lua) { return globals_of(lua).are_closed; }

void note_uses(lua_State* lua, const std::string& chunk) {
  Globals& noted = globals_of(lua);
  LuaState::push_globals(lua);
  const int globals = lua_gettop(lua);
  lua_pushvalue(lua, -2);
  for (GlobalUse& use : global_uses(lua, chunk)) {
    if (has_entry(lua, globals, use.name)) continue;
    noted.held.emplace_back(lua, 2 * sizeof use + use.name.size() + use.chunk.size());
    noted.uses.push_back(std::move(use));
  }
  lua_settop(lua, globals - 1);
}

// The values that are pushed outside of the call allocate nothing: an error there would end the
// process.
void note_globals(LuaState& state, const std::string& chunk) {
  lua_State* const lua = state.get();
  push_function<note_function>(lua);
  lua_pushvalue(lua, -2);
  lua_pushlightuserdata(lua, const_cast<std::string*>(&chunk));
  state.call(2, 0, chunk);
}

void close_globals(LuaState& state, Mistakes& mistakes) {
  push_function<check_uses>(state.get());
  lua_pushlightuserdata(state.get(), &mistakes);
  state.call(1, 0, "globals");
}

}  // namespace cupel::scripting_detail
