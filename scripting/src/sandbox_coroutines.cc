// Lua's own coroutine functions would hand a limit that was reached to the caller as an error.

#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

// A coroutine may do so much before its own hook is called.
constexpr std::int64_t kNewCoroutine = 100;

lua_State* thread_of(lua_State* lua) {
  lua_State* const thread = lua_tothread(lua, 1);
  luaL_argexpected(lua, thread != nullptr, 1, "coroutine");
  return thread;
}

// Resumes with the arguments on top; the results, or the error, are then on top. -1: the error.
int resume(lua_State* lua, lua_State* thread, int arguments) {
  if (lua_checkstack(thread, arguments) == 0) {
    lua_pushliteral(lua, "too many arguments to resume");
    return -1;
  }
  lua_xmove(lua, thread, arguments);
  int results = 0;
  const int status = LuaState::of(lua).resume(lua, thread, arguments, &results);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(thread, lua, 1);
    return -1;
  }
  if (lua_checkstack(lua, results + 1) == 0) {
    lua_pop(thread, results);
    lua_pushliteral(lua, "too many results to resume");
    return -1;
  }
  lua_xmove(thread, lua, results);
  return results;
}

int coroutine_resume(lua_State* lua) {
  lua_State* const thread = thread_of(lua);
  LuaState::of(lua).charge(lua, 1);
  const int results = resume(lua, thread, lua_gettop(lua) - 1);
  lua_pushboolean(lua, results >= 0 ? 1 : 0);
  const int count = results >= 0 ? results : 1;
  lua_insert(lua, -(count + 1));
  return count + 1;
}

int call_wrapped(lua_State* lua) {
  lua_State* const thread = lua_tothread(lua, lua_upvalueindex(1));
  LuaState::of(lua).charge(lua, 1);
  const int results = resume(lua, thread, lua_gettop(lua));
  if (results < 0) return lua_error(lua);
  return results;
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
  const char* status = "dead";
  lua_Debug activation;
  if (thread == lua)
    status = "running";
  else if (lua_status(thread) == LUA_YIELD)
    status = "suspended";
  else if (lua_status(thread) == LUA_OK && lua_getstack(thread, 0, &activation) != 0)
    status = "normal";
  else if (lua_status(thread) == LUA_OK && lua_gettop(thread) > 0)
    status = "suspended";
  lua_pushstring(lua, status);
  return 1;
}

}  // namespace

void add_coroutine_functions(lua_State* lua) {
  lua_newtable(lua);
  set_function<coroutine_create>(lua, "create");
  set_function<coroutine_resume>(lua, "resume");
  set_function<coroutine_wrap>(lua, "wrap");
  set_function<coroutine_yield>(lua, "yield");
  set_function<coroutine_status>(lua, "status");
  for (const char* name : {"isyieldable", "running"}) pass(lua, LUA_COLIBNAME, name);
  lua_setfield(lua, -2, LUA_COLIBNAME);
}

}  // namespace cupel::lua
