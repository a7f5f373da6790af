#pragma once

// Functions of ours for scripts, by sol2: a function with typed parameters and a typed result
// becomes a function of Lua. This header is the only one that includes sol2, and no header includes
// it.
//
// The functions of a type are listed in its register_type<T>(lua, method<&f>("name"), ...).
//
// sol2 takes the arguments from the stack, calls the function inside its trampoline, hands a
// std::exception to our handler, and pushes the result. The types of parameters and results are
// ours: each reads or pushes itself, so that limits hold and messages have the words of scripts.
// Of sol2, only what works on the stack is used. A sol::object, sol::table or sol::function is made
// in a noexcept constructor that allocates in the registry: where the limit of memory is reached
// there, std::terminate is called. sol2 empties the stack before it pushes a result, and garbage
// may be collected then: a result owns what it refers to, and refers to no argument.

// The settings, and why:
//
// SOL_USING_CXX_LUA                Lua is compiled as C++, and its errors are exceptions.
// SOL_EXCEPTIONS_SAFE_PROPAGATION  off: on, exceptions pass the trampoline, and scripts lose the
//                                  error objects of queries.
// SOL_EXCEPTIONS_CATCH_ALL         off, so that LimitReached and Lua's own errors pass.
// SOL_ALL_SAFETIES_ON              on: arguments are checked.
// SOL_PRINT_ERRORS                 off: libraries do not print.
#define SOL_USING_CXX_LUA 1
#define SOL_EXCEPTIONS_SAFE_PROPAGATION 0
#define SOL_EXCEPTIONS_CATCH_ALL 0
#define SOL_ALL_SAFETIES_ON 1
#define SOL_PRINT_ERRORS 0
#include <concepts>
#include <sol/sol.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "object_type.h"

namespace cupel::scripting_detail {

/// A type of parameters that reads itself from the stack.
template <class T>
concept FromLua = requires(lua_State* lua, int place) {
  { T::from_lua(lua, place) } -> std::same_as<T>;
};

/// A type of results that pushes itself and returns how many values these are.
template <class T>
concept IntoLua = requires(T& result, lua_State* lua) {
  { result.push(lua) } -> std::same_as<int>;
};

// What sol2 calls for these types, and for references to objects that scripts see. Reading an
// argument checks it, so there is nothing to check beforehand.
template <FromLua T, class Handler>
bool sol_lua_check(sol::types<T> /*type*/, lua_State* /*lua*/, int /*place*/, Handler&& /*handler*/,
                   sol::stack::record& tracking) {
  tracking.use(1);
  return true;
}
template <FromLua T>
T sol_lua_get(sol::types<T> /*type*/, lua_State* lua, int place, sol::stack::record& tracking) {
  tracking.use(1);
  return T::from_lua(lua, place);
}
template <IntoLua T, class Result>
requires std::same_as<std::remove_cvref_t<Result>, T>
int sol_lua_push(sol::types<T> /*type*/, lua_State* lua, Result&& result) {
  return result.push(lua);
}
template <IsObject T, class Handler>
bool sol_lua_check(sol::types<T&> /*type*/, lua_State* /*lua*/, int /*place*/,
                   Handler&& /*handler*/, sol::stack::record& tracking) {
  tracking.use(1);
  return true;
}
template <IsObject T>
T& sol_lua_get(sol::types<T&> /*type*/, lua_State* lua, int place, sol::stack::record& tracking) {
  tracking.use(1);
  return check_object<T>(lua, place);
}

// For types that a source keeps to itself: sol2 finds these functions in the namespace of the type.
namespace {
using scripting_detail::sol_lua_check;
using scripting_detail::sol_lua_get;
using scripting_detail::sol_lua_push;
}  // namespace

/// A function as Lua calls it, with its name as first upvalue: one with typed parameters, or one
/// that uses Lua's own interface, `int f(lua_State*)`.
template <auto kFunction>
constexpr Method method(const char* name, const char* shown = nullptr) {
  if constexpr (std::is_convertible_v<decltype(kFunction), lua_CFunction>)
    return {name, &guarded<kFunction>, shown == nullptr ? name : shown};
  else {
    // sol2 would read the arguments in a noexcept function as well, where errors end the process.
    static_assert(!sol::meta::bind_traits<decltype(kFunction)>::is_noexcept);
    return {name, &sol::c_call<decltype(kFunction), kFunction>, shown == nullptr ? name : shown};
  }
}

/// Has exceptions of bound functions become errors of scripts: as guarded() does for functions that
/// use Lua's own interface. Once per state, before any is called.
void install_exception_handler(lua_State* lua);

/// Registers a type with these methods, each by method<&f>("name").
template <IsObject T, std::same_as<Method>... Methods>
void register_type(lua_State* lua, Methods... methods) {
  const Method all[] = {methods...};
  register_type<T>(lua, std::span<const Method>(all));
}

/// A new table on top of the stack, which gets fields by name.
class NewTable {
 public:
  /// Pushes the table, with room for `fields` of them.
  NewTable(lua_State* lua, int fields) : lua_(lua) {
    lua_createtable(lua, 0, fields);
    table_ = lua_gettop(lua);
  }
  template <class T>
  void set(std::string_view name, T&& value) const {
    sol::stack::set_field<false, true>(lua_, name, std::forward<T>(value), table_);
  }

 private:
  lua_State* lua_;
  int table_;
};

/// Sets a bound function in the table on top.
template <auto kFunction>
void bind(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_pushcclosure(lua, method<kFunction>(name).function, 1);
  lua_setfield(lua, -2, name);
}

}  // namespace cupel::scripting_detail
