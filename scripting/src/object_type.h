#pragma once

#include <memory>
#include <span>
#include <utility>

#include "lua_state.h"

namespace cupel::scripting_detail {

// The registry of the types whose objects scripts see: trials, tensors, values, `req`, errors of
// queries. A type is registered once per state, under an address of its own, and a userdata of the
// type refers to its object by a pointer. LuaState keeps the objects alive; no userdata has `__gc`.

/// The name of a type in messages, `static constexpr const char* kName`. Specialised beside each
/// type that scripts see.
template <class T>
struct ObjectType;

template <class T>
concept IsObject = requires {
  ObjectType<T>::kName;
};

/// The address that stands for a type.
template <class T>
inline char object_key = 0;

/// A function that values of a type of ours have. Names that begin with `__` are metamethods.
struct Method {
  const char* name;
  lua_CFunction function;
  const char* shown;  ///< The name in messages.
};

/// Registers a type under `key`. Each function has its name as first upvalue. Asking for a field
/// that is not there is an error that names the nearest method. A type with an `__index` of its own
/// answers itself: its second upvalue is the table of methods.
void register_type(lua_State* lua, const void* key, const char* name,
                   std::span<const Method> methods);
/// Pushes the table of a registered type's methods.
void push_methods(lua_State* lua, const void* key);

template <IsObject T>
void register_type(lua_State* lua, std::span<const Method> methods) {
  register_type(lua, &object_key<T>, ObjectType<T>::kName, methods);
}

/// The object of an argument; null where the value is another, or of another type.
template <class T>
T* find_object(lua_State* lua, int argument) noexcept {
  return static_cast<T*>(LuaState::object_at(lua, argument, &object_key<T>));
}

/// Throws that a method was called with another value than its object.
[[noreturn]] void fail_object(lua_State* lua, int argument, const char* name);

/// The object of an argument; throws UsageError where there is none.
template <IsObject T>
T& check_object(lua_State* lua, int argument) {
  if (T* const object = find_object<T>(lua, argument)) return *object;
  fail_object(lua, argument, ObjectType<T>::kName);
}

/// Pushes a value that refers to an object, which lives as long as the value's memory.
template <class T>
void push_object(lua_State* lua, std::shared_ptr<T> object) {
  LuaState::of(lua).push_object(lua, std::move(object), &object_key<T>);
}

/// Pushes a value that refers to an object, which lives as long as the state.
template <IsObject T>
void push_reference(lua_State* lua, T& object, int user_values = 0) {
  LuaState::push_reference(lua, &object, &object_key<T>, user_values);
}

}  // namespace cupel::scripting_detail
