#include "arguments.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

constexpr std::size_t kLongestShown = 100;
constexpr lua_Unsigned kLongestList = 10'000;
// No name and no pattern is as long.
constexpr std::size_t kLongestEntry = std::size_t{64} << 10U;
constexpr std::int64_t kCall = 5;

// Of the value on top, which is no list in a list.
std::string text_in(lua_State* lua, const std::string& where) {
  if (lua_type(lua, -1) != LUA_TSTRING)
    throw UsageError(where + " is a " + luaL_typename(lua, -1) + ", not a text");
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, -1, &size);
  if (size > kLongestEntry) throw UsageError(where + " is a text of more than 64 KiB");
  return {text, size};
}

// A key's bit in the set of those that are there. Two keys may share one.
std::uint64_t bit_of(std::string_view key) noexcept {
  const std::size_t sum = key.empty() ? 0 : static_cast<unsigned char>(key.front()) + key.size();
  return std::uint64_t{1} << (sum % 64);
}

[[noreturn]] void fail_unknown(const char* function, std::string_view key,
                               std::initializer_list<std::string_view> known) {
  std::vector<std::string> names(known.begin(), known.end());
  std::string problem = std::string(function) + " does not know " + shortened(key);
  const std::string question = did_you_mean(shortened(key), names);
  problem += question.empty() ? "; it knows " : question;
  if (question.empty())
    for (std::size_t i = 0; i < names.size(); ++i) problem += (i == 0 ? "" : ", ") + names[i];
  throw UsageError(problem);
}

// In the words of named arguments.
[[noreturn]] void fail_argument(lua_State* lua, int argument, const char* function,
                                const char* what, const char* not_what) {
  std::string problem = std::string(function) + ": " + what;
  if (lua_isnoneornil(lua, argument)) throw UsageError(problem + " is not given");
  if (lua_type(lua, argument) == LUA_TNUMBER && lua_isinteger(lua, argument) == 0)
    throw UsageError(problem + " is no whole number");
  throw UsageError(problem + " is a " + luaL_typename(lua, argument) + ", " + not_what);
}

}  // namespace

NamedArguments::NamedArguments(lua_State* lua, int argument, const char* function,
                               std::initializer_list<std::string_view> known)
    : lua_(lua), table_(argument), function_(function) {
  LuaState::of(lua).charge(lua, kCall);
  if (lua_isnoneornil(lua, argument)) return;
  if (!lua_istable(lua, argument))
    throw UsageError(std::string(function) + " takes a table of named arguments, not a " +
                     luaL_typename(lua, argument));
  // Lua's order of keys is another one in each process; the error is the same in all of them.
  std::optional<std::string_view> unknown;
  bool has_nameless = false;
  lua_pushnil(lua);
  while (lua_next(lua, argument) != 0) {
    lua_pop(lua, 1);
    if (unknown || has_nameless) LuaState::of(lua).charge(lua, 1);
    if (lua_type(lua, -1) != LUA_TSTRING) {
      has_nameless = true;
      continue;
    }
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, -1, &size);
    const std::string_view key(text, size);
    if (std::find(known.begin(), known.end(), key) == known.end())
      unknown = unknown ? std::min(*unknown, key) : key;
    keys_ |= bit_of(key);
  }
  if (has_nameless)
    throw UsageError(std::string(function) + " takes names, and has an entry without one");
  if (unknown) fail_unknown(function, *unknown, known);
}

void NamedArguments::fail(const char* key, const std::string& what) const {
  throw UsageError(std::string(function_) + ": " + key + " " + what);
}

int NamedArguments::push(const char* key) const {
  if ((keys_ & bit_of(key)) == 0) {
    lua_pushnil(lua_);
    return LUA_TNIL;
  }
  lua_pushstring(lua_, key);
  return lua_rawget(lua_, table_);
}

bool NamedArguments::has(const char* key) const {
  const bool is_there = push(key) != LUA_TNIL;
  lua_pop(lua_, 1);
  return is_there;
}

std::optional<std::string_view> NamedArguments::text(const char* key) const {
  const int type = push(key);
  std::size_t size = 0;
  const char* const text = type == LUA_TSTRING ? lua_tolstring(lua_, -1, &size) : nullptr;
  lua_pop(lua_, 1);
  if (type == LUA_TNIL) return std::nullopt;
  if (text == nullptr) fail(key, "is a " + std::string(lua_typename(lua_, type)) + ", not a text");
  return std::string_view(text, size);
}

std::optional<std::int64_t> NamedArguments::integer(const char* key) const {
  const int type = push(key);
  int is_integer = 0;
  const lua_Integer integer = type == LUA_TNUMBER ? lua_tointegerx(lua_, -1, &is_integer) : 0;
  lua_pop(lua_, 1);
  if (type == LUA_TNIL) return std::nullopt;
  if (is_integer == 0)
    fail(key, type == LUA_TNUMBER
                  ? "is no whole number"
                  : "is a " + std::string(lua_typename(lua_, type)) + ", not a whole number");
  return integer;
}

std::optional<double> NamedArguments::number(const char* key) const {
  const int type = push(key);
  const double number = type == LUA_TNUMBER ? lua_tonumber(lua_, -1) : 0;
  lua_pop(lua_, 1);
  if (type == LUA_TNIL) return std::nullopt;
  if (type != LUA_TNUMBER)
    fail(key, "is a " + std::string(lua_typename(lua_, type)) + ", not a number");
  return number;
}

std::optional<bool> NamedArguments::boolean(const char* key) const {
  const int type = push(key);
  const bool value = lua_toboolean(lua_, -1) != 0;
  lua_pop(lua_, 1);
  if (type == LUA_TNIL) return std::nullopt;
  if (type != LUA_TBOOLEAN)
    fail(key, "is a " + std::string(lua_typename(lua_, type)) + ", not true or false");
  return value;
}

std::vector<std::string> NamedArguments::texts(const char* key) const {
  std::vector<std::string> texts;
  if (push(key) != LUA_TNIL) texts = texts_at(lua_, -1, std::string(function_) + ": " + key);
  lua_pop(lua_, 1);
  return texts;
}

Mode NamedArguments::mode(const char* key) const {
  const auto name = text(key);
  return name ? parse_mode(shortened(*name)) : Mode::Global;
}

std::string_view NamedArguments::required_text(const char* key) const {
  const auto value = text(key);
  if (!value) fail(key, "is not given");
  return *value;
}

double NamedArguments::required_number(const char* key) const {
  const auto value = number(key);
  if (!value) fail(key, "is not given");
  return *value;
}

std::vector<std::string> texts_at(lua_State* lua, int place, const std::string& where) {
  if (!lua_istable(lua, place)) {
    lua_pushvalue(lua, place);
    std::vector<std::string> texts;
    texts.push_back(text_in(lua, where));
    lua_pop(lua, 1);
    return texts;
  }
  place = lua_absindex(lua, place);
  const lua_Unsigned size = lua_rawlen(lua, place);
  if (size > kLongestList) throw UsageError(where + " is a list of more than 10,000");
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(size));
  std::vector<std::string> texts;
  // The list may hold one long text many times.
  std::size_t bytes = 0;
  for (lua_Unsigned i = 1; i <= size; ++i) {
    lua_rawgeti(lua, place, static_cast<lua_Integer>(i));
    texts.push_back(text_in(lua, where + "[" + std::to_string(i) + "]"));
    lua_pop(lua, 1);
    bytes += texts.back().size();
    if (bytes > kLongestText) throw UsageError(where + " holds more than 1 MiB of text");
  }
  return texts;
}

Mode mode_argument(lua_State* lua, int argument) {
  return lua_isnoneornil(lua, argument) ? Mode::Global
                                        : parse_mode(shortened(check_text(lua, argument)));
}

std::int64_t check_step(lua_State* lua, int argument, const char* function, const char* what) {
  int is_integer = 0;
  const lua_Integer integer = lua_tointegerx(lua, argument, &is_integer);
  if (lua_type(lua, argument) == LUA_TNUMBER && is_integer != 0) return integer;
  fail_argument(lua, argument, function, what, "not a whole number");
}

std::string_view check_name(lua_State* lua, int argument, const char* function, const char* what) {
  if (lua_type(lua, argument) == LUA_TSTRING) return check_text(lua, argument);
  fail_argument(lua, argument, function, what, "not a text");
}

std::string shortened(std::string_view text) { return std::string(text.substr(0, kLongestShown)); }

void push_string(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

void push_list(lua_State* lua, const std::vector<std::string>& texts) {
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(texts.size()) + 1);
  lua_createtable(lua, static_cast<int>(std::min<std::size_t>(texts.size(), 1U << 20U)), 0);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    push_string(lua, texts[i]);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
  }
}

void push_list(lua_State* lua, const std::vector<std::int64_t>& numbers) {
  LuaState::of(lua).charge(lua, static_cast<std::int64_t>(numbers.size()) + 1);
  lua_createtable(lua, static_cast<int>(std::min<std::size_t>(numbers.size(), 1U << 20U)), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    lua_pushinteger(lua, numbers[i]);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
  }
}

}  // namespace cupel::lua
