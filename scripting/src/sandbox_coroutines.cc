// Coroutines of scripts. Lua's own functions would return a limit that is reached to the caller as
// an error.
//
// LuaState::resume raises the limit again in the caller instead. A new coroutine is charged what it
// may do before its own hook is called for the first time.

#include "sandbox_functions.h"

namespace cupel::scripting_detail {
namespace {

// A coroutine may do so much before its own hook is called.
constexpr std::int64_t kNewCoroutine = 100;

lua_State* thread_of(lua_State* lua) {
  lua_State* const thread = lua_tothread(lua, 1);
  luaL_argexpected(lua, thread != nullptr, 1, "coroutine");
  return thread;
}

// Moves the values on top of one thread to another that has room for them and one more.
bool move_values(lua_State* from, lua_State* to, int count) {
  if (lua_checkstack(to, count + 1) == 0) return false;
  lua_xmove(from, to, count);
  return true;
}

// Resumes with the arguments on top; the results, or the error, are then on top. -1: the error.
int resume(lua_State* lua, lua_State* thread, int arguments) {
  if (!move_values(lua, thread, arguments)) {
    push(lua, "too many arguments to resume");
    return -1;
  }
  int results = 0;
  const int status = LuaState::of(lua).resume(lua, thread, arguments, &results);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(thread, lua, 1);
    return -1;
  }
  if (move_values(thread, lua, results)) return results;
  lua_pop(thread, results);
  push(lua, "too many results to resume");
  return -1;
}

int coroutine_resume(lua_State* lua) {
  lua_State* const thread = thread_of(lua);
  LuaState::of(lua).charge(lua, 1);
  const int results = resume(lua, thread, lua_gettop(lua) - 1);
  push(lua, results >= 0);
  const int count = results >= 0 ? results : 1;
  lua_insert(lua, -(count + 1));
  return count + 1;
}

int call_wrapped(lua_State* lua) {
  lua_State* const thread = lua_tothread(lua, lua_upvalueindex(1));
  LuaState::of(lua).charge(lua, 1);
  const int results = resume(lua, thread, lua_gettop(lua));
  return results < 0 ? lua_error(lua) : results;
}

int coroutine_create(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  LuaState::of(lua).charge(lua, kNewCoroutine);
  lua_State* const thread = lua_newthread(lua);
  lua_pushvalue(lua, 1);
  lua_xmove(lua, thread, 1);
  return 1;
}

int coroutine_wrap(lua_State* lua) {
  coroutine_create(lua);
  push_function<call_wrapped>(lua, 1);
  return 1;
}

int coroutine_yield(lua_State* lua) { return lua_yield(lua, lua_gettop(lua)); }

int coroutine_status(lua_State* lua) {
  lua_State* const thread = thread_of(lua);
  lua_Debug activation;
  if (thread == lua) return push(lua, "running");
  const int status = lua_status(thread);
  if (status == LUA_YIELD) return push(lua, "suspended");
  if (status != LUA_OK) return push(lua, "dead");
  if (lua_getstack(thread, 0, &activation) != 0) return push(lua, "normal");
  return push(lua, lua_gettop(thread) > 0 ? "suspended" : "dead");
}

}  // namespace

void add_coroutine_functions(lua_State* lua) {
  add_library(lua, {LUA_COLIBNAME, luaopen_coroutine}, {"isyieldable", "running"},
              {{"create", guarded<coroutine_create>},
               {"resume", guarded<coroutine_resume>},
               {"wrap", guarded<coroutine_wrap>},
               {"yield", guarded<coroutine_yield>},
               {"status", guarded<coroutine_status>}});
}

}  // namespace cupel::scripting_detail
