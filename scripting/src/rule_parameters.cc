#include "rule_parameters.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "sandbox_functions.h"
#include "sol_binding.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::int64_t kLookingForParameters = 500;

// `__index` of self.params. Its upvalue points to the parameters of the rule.
int missing_parameter(lua_State* lua) {
  const auto& known =
      *static_cast<const std::vector<Parameter>*>(lua_touserdata(lua, lua_upvalueindex(1)));
  LuaState::of(lua).charge(lua, kLookingForParameters);
  const std::string name = shortened(push_text(lua, 2));
  std::vector<std::string> names;
  for (const Parameter& parameter : known) names.push_back(parameter.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw UsageError("self.params has no parameter " + name + did_you_mean(name, names));
  return 0;  // it is declared, and has no value
}

// Sets a field of a table to the value of a parameter.
struct SetValue {
  const NewTable& table;
  const std::string& name;
  template <class T>
  void operator()(const T& value) const {
    table.set(name, value);
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    table.set(name, List<T>{values});
  }
};

}  // namespace

void push_parameters(lua_State* lua, const DeclaredRule& rule, const ParameterValues& values) {
  const std::vector<Parameter>& known = rule.definition.parameters;
  const NewTable params(lua, static_cast<int>(known.size()));
  for (const Parameter& parameter : known)
    if (const ParameterValue* const value = values.find(parameter.name))
      std::visit(SetValue{params, parameter.name}, *value);
  const NewTable metatable(lua, 2);
  metatable.set("__metatable", false);
  lua_pushlightuserdata(lua, const_cast<std::vector<Parameter>*>(&known));
  push_function<missing_parameter>(lua, 1);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

}  // namespace cupel::scripting_detail
