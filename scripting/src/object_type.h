#pragma once

#include <initializer_list>

#include "lua_state.h"

namespace cupel::lua {

/// A function that values of a type of ours have.
struct Method {
  const char* name;
  lua_CFunction function;
};

template <int (*kFunction)(lua_State*)>
constexpr Method method(const char* name) {
  return {name, &guarded<kFunction>};
}

/// Makes the type of values of ours that have methods and nothing else, in the registry under
/// `key`. Asking for another field is an error that names the nearest method.
void make_type(lua_State* lua, const void* key, const char* name,
               std::initializer_list<Method> methods);

/// The object of an argument of that type; throws UsageError, which says what a `name` is called
/// with.
void* check_object(lua_State* lua, int argument, const void* key, const char* name);

}  // namespace cupel::lua
