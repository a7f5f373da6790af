#include "rule_parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "arguments.h"
#include "cupel/rules/number_text.h"

namespace cupel::lua {
namespace {

using Kind = ParameterDefinition::Kind;

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

void push_parameters(lua_State* lua, const ParameterValues& values) {
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
}

}  // namespace cupel::lua
