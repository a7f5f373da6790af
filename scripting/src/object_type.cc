#include "object_type.h"

#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "sandbox_functions.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kLookingForNames = 500;
// Of the table of methods, in the metatable.
constexpr int kMethodsPlace = 1;

// Of a table of methods; its upvalue is the type's name.
int missing_method(lua_State* lua) {
  LuaState::of(lua).charge(lua, kLookingForNames);
  const std::string type(function_name(lua));
  const std::string name = shortened(push_text(lua, 2));
  throw UsageError("a " + type + " has no " + name + did_you_mean(name, names_in(lua, 1)));
}

bool is_metamethod(const Method& method) { return std::string_view(method.name).starts_with("__"); }

}  // namespace

void register_type(lua_State* lua, const void* key, const char* name,
                   std::span<const Method> methods) {
  lua_newtable(lua);
  lua_createtable(lua, 0, static_cast<int>(methods.size()));
  lua_pushvalue(lua, -1);
  lua_rawseti(lua, -3, kMethodsPlace);
  bool answers_itself = false;
  for (const Method& method : methods) {
    const bool is_index = std::string_view(method.name) == "__index";
    answers_itself = answers_itself || is_index;
    push(lua, method.shown);
    if (is_index) lua_pushvalue(lua, -2);
    lua_pushcclosure(lua, method.function, is_index ? 2 : 1);
    lua_setfield(lua, is_metamethod(method) ? -3 : -2, method.name);
  }
  if (answers_itself) {
    lua_pop(lua, 1);
  } else {
    push(lua, name);
    push_function<missing_method>(lua, 1);
    set_index(lua);
    lua_setfield(lua, -2, "__index");
  }
  push(lua, name);
  lua_setfield(lua, -2, "__name");
  push(lua, false);
  lua_setfield(lua, -2, "__metatable");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
}

void push_methods(lua_State* lua, const void* key) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, key);
  lua_rawgeti(lua, -1, kMethodsPlace);
  lua_remove(lua, -2);
}

void fail_object(lua_State* lua, int argument, const char* name) {
  throw UsageError("a method of a " + std::string(name) + " is called with another value, " +
                   type_of(lua, argument) + "; write " + name + ":method(...), with a colon");
}

}  // namespace cupel::scripting_detail
