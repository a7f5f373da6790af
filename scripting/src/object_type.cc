#include "object_type.h"

#include <string>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

constexpr std::int64_t kLookingForNames = 500;

// Of a table of methods; its upvalue is the type's name.
int missing_method(lua_State* lua) {
  LuaState::of(lua).charge(lua, kLookingForNames);
  const std::string type = lua_tostring(lua, lua_upvalueindex(1));
  const std::string name = shortened(push_text(lua, 2));
  std::vector<std::string> names;
  lua_pushnil(lua);
  while (lua_next(lua, 1) != 0) {
    lua_pop(lua, 1);
    names.emplace_back(lua_tostring(lua, -1));
  }
  throw UsageError("a " + type + " has no " + name + did_you_mean(name, names));
}

}  // namespace

void make_type(lua_State* lua, const void* key, const char* name,
               std::initializer_list<Method> methods) {
  lua_newtable(lua);
  lua_createtable(lua, 0, static_cast<int>(methods.size()));
  for (const Method& method : methods) {
    lua_pushcfunction(lua, method.function);
    lua_setfield(lua, -2, method.name);
  }
  lua_newtable(lua);
  lua_pushstring(lua, name);
  push_function<missing_method>(lua, 1);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_setfield(lua, -2, "__index");
  lua_pushstring(lua, name);
  lua_setfield(lua, -2, "__name");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
}

void* check_object(lua_State* lua, int argument, const void* key, const char* name) {
  if (void* const object = LuaState::object_at(lua, argument, key)) return object;
  throw UsageError("a method of a " + std::string(name) + " is called with another value, a " +
                   luaL_typename(lua, argument) + "; write " + name + ":method(...), with a colon");
}

}  // namespace cupel::lua
