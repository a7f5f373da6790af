#include "declared_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "arguments.h"
#include "cupel/core/error.h"
#include "cupel/rules/number_text.h"

namespace cupel::lua {
namespace {

using Kind = ParameterDefinition::Kind;

constexpr std::size_t kLongestParameter = 64;
constexpr std::size_t kMostParameters = 100;
constexpr lua_Unsigned kMostEntries = 1000;
constexpr std::size_t kLongestEntry = 4096;
constexpr std::int64_t kReading = 20;
// Of defaults, helps and choices of one rule.
constexpr std::size_t kMostParametersText = std::size_t{16} << 10U;
constexpr double kMost = std::numeric_limits<double>::max();
constexpr std::array<std::string_view, 2> kTaken = {"other_trial", "other_trials"};

std::string text_at(lua_State* lua, int place) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, place, &size);
  if (size > kLongestEntry) throw UsageError("rule: params hold a text of more than 4 KiB");
  return {text, size};
}

std::size_t text_size(const ParameterDefinition& parameter) {
  std::size_t bytes = parameter.info.default_value.size() + parameter.info.help.size();
  for (const std::string& choice : parameter.one_of) bytes += choice.size() + sizeof(std::string);
  return bytes;
}

// As a parameter is written: a JSON array where an entry holds a comma.
std::string list_text(const std::vector<std::string>& entries) {
  const bool plain = std::none_of(entries.begin(), entries.end(), [](const std::string& entry) {
    return entry.find_first_of(",[") != std::string::npos;
  });
  std::string text;
  for (const std::string& entry : entries) {
    if (!text.empty()) text += ",";
    if (plain) {
      text += entry;
      continue;
    }
    text += '"';
    for (const char c : entry) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  return plain ? text : "[" + text + "]";
}

// ---- a default gives a parameter its type ----

void take_default(ParameterDefinition& parameter, Kind kind, const char* name, ParameterValue value,
                  std::string text) {
  parameter.kind = kind;
  parameter.value = std::make_shared<const ParameterValue>(std::move(value));
  parameter.info.kind = name;
  parameter.info.default_value = std::move(text);
}

// Throws unless the table on top holds nothing but its entries 1 to `size`.
void require_list(lua_State* lua, lua_Unsigned size, const std::string& where) {
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pop(lua, 1);
    const bool is_entry = lua_isinteger(lua, -1) != 0 && lua_tointeger(lua, -1) >= 1 &&
                          static_cast<lua_Unsigned>(lua_tointeger(lua, -1)) <= size;
    if (is_entry) continue;
    throw UsageError(where + (size == 0 ? " is a table without default = ..."
                                        : " is a list that has names, too"));
  }
}

void read_list(lua_State* lua, const std::string& where, ParameterDefinition& parameter) {
  const lua_Unsigned size = lua_rawlen(lua, -1);
  if (size > kMostEntries) throw UsageError(where + " is a list of more than 1000");
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(size));
  require_list(lua, size, where);
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (lua_Unsigned i = 1; i <= size; ++i) {
    switch (lua_rawgeti(lua, -1, static_cast<lua_Integer>(i))) {
      case LUA_TNUMBER:
        numbers.push_back(lua_tonumber(lua, -1));
        texts.push_back(shortest_text(numbers.back()));
        break;
      case LUA_TSTRING:
        texts.push_back(text_at(lua, -1));
        break;
      default:
        break;
    }
    lua_pop(lua, 1);
    if (texts.size() != i || (!numbers.empty() && numbers.size() != i))
      throw UsageError(where + " is a list of texts, or of numbers");
  }
  std::string text = list_text(texts);
  if (numbers.empty())
    take_default(parameter, Kind::Texts, "list", std::move(texts), std::move(text));
  else
    take_default(parameter, Kind::Numbers, "list", std::move(numbers), std::move(text));
}

// Of the value on top.
void read_default(lua_State* lua, const std::string& where, ParameterDefinition& parameter) {
  switch (lua_type(lua, -1)) {
    case LUA_TBOOLEAN: {
      const bool value = lua_toboolean(lua, -1) != 0;
      return take_default(parameter, Kind::Boolean, "bool", value, value ? "True" : "False");
    }
    case LUA_TNUMBER: {
      if (lua_isinteger(lua, -1) != 0) {
        const std::int64_t value = lua_tointeger(lua, -1);
        return take_default(parameter, Kind::Integer, "int", value, std::to_string(value));
      }
      const double value = lua_tonumber(lua, -1);
      if (!std::isfinite(value)) throw UsageError(where + " is not finite");
      return take_default(parameter, Kind::Number, "float", value, shortest_text(value));
    }
    case LUA_TSTRING: {
      const std::string value = text_at(lua, -1);
      return take_default(parameter, Kind::Text, "text", value, value);
    }
    case LUA_TTABLE:
      return read_list(lua, where, parameter);
    default:
      throw UsageError(where + " is a " + luaL_typename(lua, -1) +
                       "; a default is a number, a text, true or false, or a list");
  }
}

// ---- {default =, type =, help =, at_least =, ...} ----

void read_type(const NamedArguments& declared, ParameterDefinition& parameter) {
  const std::string_view type = *declared.text("type");
  if (type == "int")
    parameter.kind = Kind::Integer;
  else if (type == "float")
    parameter.kind = Kind::Number;
  else
    declared.fail("type", "is to be \"float\" or \"int\", of a parameter without default");
  parameter.info.kind = type;
}

bool is_of_numbers(const ParameterDefinition& parameter) {
  return parameter.kind == Kind::Number || parameter.kind == Kind::Integer ||
         parameter.kind == Kind::Numbers;
}

bool default_is_in_range(const ParameterDefinition& parameter) {
  const auto in_range = [&](double number) { return parameter.range.contains(number); };
  if (!parameter.value) return true;
  if (const auto* number = std::get_if<double>(&*parameter.value)) return in_range(*number);
  if (const auto* integer = std::get_if<std::int64_t>(&*parameter.value))
    return in_range(static_cast<double>(*integer));
  if (const auto* numbers = std::get_if<std::vector<double>>(&*parameter.value))
    return std::all_of(numbers->begin(), numbers->end(), in_range);
  return true;
}

void read_range(const NamedArguments& declared, ParameterDefinition& parameter) {
  const auto bound = [&](const char* closed, const char* open, double& end, bool& is_open) {
    const auto including = declared.number(closed);
    const auto beyond = declared.number(open);
    if (including && beyond)
      declared.fail(open, "and " + std::string(closed) + " are one too many");
    if ((including || beyond) && !is_of_numbers(parameter))
      declared.fail(including ? closed : open, "is for numbers");
    is_open = beyond.has_value();
    if (including || beyond) end = including ? *including : *beyond;
  };
  bound("at_least", "above", parameter.range.least, parameter.range.open_below);
  bound("at_most", "below", parameter.range.most, parameter.range.open_above);
  if (!default_is_in_range(parameter))
    declared.fail("default", "is " + parameter.info.default_value + ", which is not legal itself");
}

void read_choice(const NamedArguments& declared, ParameterDefinition& parameter) {
  parameter.one_of = declared.texts("one_of");
  if (parameter.one_of.empty()) return;
  if (parameter.kind != Kind::Text) declared.fail("one_of", "is for texts");
  const std::string& text = parameter.info.default_value;
  if (!text.empty() &&
      std::find(parameter.one_of.begin(), parameter.one_of.end(), text) == parameter.one_of.end())
    declared.fail("default", "is " + text + ", which is not among one_of");
}

// Whether the declaration on top has a field of that name.
bool has_field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  const bool is_there = lua_rawget(lua, -2) != LUA_TNIL;
  lua_pop(lua, 1);
  return is_there;
}

// The declaration on top: a default, or a table that says more.
ParameterDefinition read_parameter(lua_State* lua, std::string name) {
  const std::string where = "params." + name;
  ParameterDefinition parameter{.info = {.name = std::move(name)}, .range = {-kMost, kMost}};
  const bool has_default = lua_istable(lua, -1) && has_field(lua, "default");
  const bool has_type = lua_istable(lua, -1) && has_field(lua, "type");
  if (!has_default && !has_type) {
    read_default(lua, where, parameter);
    return parameter;
  }
  const NamedArguments declared(
      lua, lua_gettop(lua), where.c_str(),
      {"default", "type", "help", "at_least", "at_most", "above", "below", "one_of"});
  if (has_default && has_type)
    declared.fail("type", "is that of the default; leave one of them out");
  if (has_type) {
    read_type(declared, parameter);
  } else {
    lua_pushliteral(lua, "default");
    lua_rawget(lua, -2);
    read_default(lua, where, parameter);
    lua_pop(lua, 1);
  }
  parameter.info.help = declared.text("help").value_or("");
  read_range(declared, parameter);
  read_choice(declared, parameter);
  return parameter;
}

std::string name_at(lua_State* lua, int place) {
  std::string name = lua_type(lua, place) == LUA_TSTRING ? text_at(lua, place) : "";
  if (!is_identifier(name))
    throw UsageError("rule: params are names of letters, digits and '_' with their defaults");
  if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end())
    throw UsageError("rule: params." + name + " is what names other runs; see other_trials = ...");
  return name;
}

}  // namespace

bool is_identifier(std::string_view text) noexcept {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= kLongestParameter && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::vector<ParameterDefinition> read_parameters(lua_State* lua, int table) {
  std::vector<ParameterDefinition> parameters;
  lua_pushliteral(lua, "params");
  const int type = lua_rawget(lua, table);
  if (type != LUA_TNIL && type != LUA_TTABLE)
    throw UsageError("rule: params is a " + std::string(lua_typename(lua, type)) +
                     ", not a table of defaults by name");
  if (type == LUA_TTABLE) {
    std::size_t bytes = 0;
    std::size_t count = 0;
    // Lua's order of keys is another one in each process; the error is the same in all of them.
    std::optional<std::string> mistake;
    lua_pushnil(lua);
    while (lua_next(lua, -2) != 0) {
      if (count++ == kMostParameters) throw UsageError("rule: params are more than 100");
      LuaState::of(lua).charge(lua, kReading);
      const int top = lua_gettop(lua);
      try {
        parameters.push_back(read_parameter(lua, name_at(lua, -2)));
        bytes += text_size(parameters.back());
      } catch (const UsageError& error) {
        mistake = mistake ? std::min<std::string>(*mistake, error.what()) : error.what();
        lua_settop(lua, top);
      }
      if (bytes > kMostParametersText)
        throw UsageError("rule: params hold more than 16 KiB of text");
      lua_pop(lua, 1);
    }
    if (mistake) throw UsageError(*mistake);
  }
  lua_pop(lua, 1);
  std::sort(parameters.begin(), parameters.end(),
            [](const auto& a, const auto& b) { return a.info.name < b.info.name; });
  return parameters;
}

}  // namespace cupel::lua
