#include "rule_parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "cupel/rules/number_text.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

using Kind = ParameterDefinition::Kind;

constexpr std::int64_t kLookingForParameters = 500;

// The least whole number that is not below the range.
std::int64_t least_integer(const NumberRange& range) {
  constexpr double kLeast = -0x1p63;
  if (range.least < kLeast) return std::numeric_limits<std::int64_t>::min();
  const double least = range.open_below ? std::floor(range.least) + 1 : std::ceil(range.least);
  return least >= -kLeast ? std::numeric_limits<std::int64_t>::max()
                          : static_cast<std::int64_t>(least);
}

std::optional<ParameterValue> integer_of(ParameterReader& reader,
                                         const ParameterDefinition& parameter) {
  const std::string& name = parameter.info.name;
  const auto number = reader.optional_integer(name, least_integer(parameter.range));
  if (!number) return std::nullopt;
  const NumberRange& range = parameter.range;
  if (!NumberRange{std::numeric_limits<double>::lowest(), range.most, false, range.open_above}
           .contains(static_cast<double>(*number)))
    reader.fail("parameter " + name + " is \"" + std::to_string(*number) +
                "\"; legal is a whole number " + (range.open_above ? "< " : "<= ") +
                shortest_text(range.most));
  return *number;
}

std::optional<ParameterValue> text_of(ParameterReader& reader,
                                      const ParameterDefinition& parameter) {
  if (parameter.one_of.empty()) return reader.text(parameter.info.name);
  const std::vector<std::string_view> legal(parameter.one_of.begin(), parameter.one_of.end());
  return reader.choice(parameter.info.name, legal);
}

std::optional<ParameterValue> given_value(ParameterReader& reader,
                                          const ParameterDefinition& parameter) {
  const std::string& name = parameter.info.name;
  switch (parameter.kind) {
    case Kind::Number:
      return reader.optional_number(name, parameter.range);
    case Kind::Integer:
      return integer_of(reader, parameter);
    case Kind::Boolean:
      return reader.boolean(name);
    case Kind::Text:
      return text_of(reader, parameter);
    case Kind::Texts:
      return reader.list(name);
    case Kind::Numbers:
      return reader.numbers(name, parameter.range);
  }
  return std::nullopt;
}

// Of the table of parameters; its upvalue has the names that are known as keys.
int missing_parameter(lua_State* lua) {
  lua_pushvalue(lua, 2);
  if (lua_rawget(lua, lua_upvalueindex(1)) == LUA_TBOOLEAN) {
    lua_pushnil(lua);
    return 1;
  }
  LuaState::of(lua).charge(lua, kLookingForParameters);
  const std::string name = shortened(push_text(lua, 2));
  std::vector<std::string> names;
  lua_pushnil(lua);
  while (lua_next(lua, lua_upvalueindex(1)) != 0) {
    lua_pop(lua, 1);
    names.emplace_back(lua_tostring(lua, -1));
  }
  std::sort(names.begin(), names.end());
  throw UsageError("self.params has no parameter " + name + did_you_mean(name, names));
}

}  // namespace

ParameterValues convert_parameters(const std::string& rule,
                                   const std::vector<ParameterDefinition>& known,
                                   const RuleParameters& given) {
  std::vector<ParameterInfo> infos;
  infos.reserve(known.size());
  for (const auto& parameter : known)
    infos.push_back({parameter.info.name, parameter.info.kind, parameter.info.default_value,
                     parameter.info.help});
  ParameterReader reader(rule, given, infos);
  ParameterValues values;
  for (const ParameterDefinition& parameter : known) {
    std::shared_ptr<const ParameterValue> value = parameter.value;
    if (reader.is_given(parameter.info.name)) {
      auto given_one = given_value(reader, parameter);
      value.reset();
      if (given_one) value = std::make_shared<const ParameterValue>(*std::move(given_one));
    }
    if (value) values[parameter.info.name] = std::move(value);
  }
  reader.finish();
  return values;
}

void push_parameters(lua_State* lua, const std::vector<ParameterDefinition>& known,
                     const ParameterValues& values) {
  struct Push {
    lua_State* lua;
    void operator()(double number) const { lua_pushnumber(lua, number); }
    void operator()(std::int64_t number) const { lua_pushinteger(lua, number); }
    void operator()(bool value) const { lua_pushboolean(lua, value ? 1 : 0); }
    void operator()(const std::string& text) const { push_string(lua, text); }
    void operator()(const std::vector<std::string>& texts) const { push_list(lua, texts); }
    void operator()(const std::vector<double>& numbers) const {
      lua_createtable(lua, static_cast<int>(std::min<std::size_t>(numbers.size(), 1000)), 0);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        lua_pushnumber(lua, numbers[i]);
        lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
      }
    }
  };
  lua_createtable(lua, 0, static_cast<int>(values.size()));
  for (const auto& [name, value] : values) {
    push_string(lua, name);
    std::visit(Push{lua}, *value);
    lua_rawset(lua, -3);
  }
  lua_createtable(lua, 0, 2);
  lua_createtable(lua, 0, static_cast<int>(known.size()));
  for (const ParameterDefinition& parameter : known) {
    push_string(lua, parameter.info.name);
    lua_pushboolean(lua, 1);
    lua_rawset(lua, -3);
  }
  push_function<missing_parameter>(lua, 1);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
}

}  // namespace cupel::lua
