#pragma once

#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "../../scripting/src/value_binding.h"
#include "../../scripting/src/value_object.h"
#include "scripting/array_fixture.h"
#include "scripting/script_fixture.h"

namespace cupel::testing {

/// A sandbox whose scripts also have `cupel.value`, `cupel.zeros` and `cupel.is_value`, and the
/// values that are given to them.
class ValueScript : public Script {
 public:
  explicit ValueScript(const ScriptLimits& limits = {}) : Script(limits) {
    work([](lua_State* lua) {
      lua_newtable(lua);
      scripting_detail::add_value_functions(lua);
      set_global(lua, "cupel");
    });
  }

  /// Makes an array a global, as a tensor of that name.
  ValueScript& give(const std::string& name, const scripting_detail::Array& array) {
    work([&](lua_State* lua) {
      scripting_detail::push(lua, array, name);
      set_global(lua, name.c_str());
    });
    return *this;
  }
  /// The same with the value of a tensor, whose bytes count.
  ValueScript& give(const std::string& name, TensorValue value) {
    work([&](lua_State* lua) {
      scripting_detail::push_value(lua, std::move(value), name);
      set_global(lua, name.c_str());
    });
    return *this;
  }

  /// The number that an expression yields.
  double number(const std::string& expression) {
    double number = kNaN;
    look(expression, [&](lua_State* lua) { number = lua_tonumber(lua, 1); });
    return number;
  }
  /// The elements of the value that it yields.
  scripting_detail::Array array(const std::string& expression) {
    std::shared_ptr<scripting_detail::Array> array;
    look(expression, [&](lua_State* lua) {
      array = std::make_shared<scripting_detail::Array>(scripting_detail::elements_of(
          lua, scripting_detail::check_object<scripting_detail::Value>(lua, 1)));
    });
    return *array;
  }

 private:
  static void set_global(lua_State* lua, const char* name) {
    scripting_detail::LuaState::push_globals(lua);
    lua_insert(lua, -2);
    lua_pushstring(lua, name);
    lua_insert(lua, -2);
    lua_rawset(lua, -3);
  }
  static int run_work(lua_State* lua) {
    const auto& function =
        *static_cast<const std::function<void(lua_State*)>*>(lua_touserdata(lua, 2));
    lua_settop(lua, 1);
    function(lua);
    return 0;
  }
  // Shows a function what an expression yields, at place 1.
  void look(const std::string& expression, const std::function<void(lua_State*)>& function) {
    state.load("return (" + expression + ")", "rule.lua");
    state.call(0, 1, "rule.lua");
    call(function);
  }
  void work(const std::function<void(lua_State*)>& function) {
    lua_pushnil(state.get());
    call(function);
  }
  // Through the door, with what is on top.
  void call(const std::function<void(lua_State*)>& function) {
    lua_pushcfunction(state.get(), &scripting_detail::guarded<run_work>);
    lua_insert(state.get(), -2);
    lua_pushlightuserdata(state.get(), const_cast<std::function<void(lua_State*)>*>(&function));
    state.call(2, 0, "rule.lua");
  }
};

}  // namespace cupel::testing
