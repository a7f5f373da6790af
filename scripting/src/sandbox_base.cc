// Functions that stand in for Lua's own, where those would let a script out of its limits, or tell
// from one run to the next what differs between them: addresses, and the order of a hash table.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

// A limit that was reached is no error to be caught.
int finish_pcall(lua_State* lua, int status, lua_KContext extra) {
  LuaState& state = LuaState::of(lua);
  if (state.is_over(status)) state.raise_limit(lua);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_pushboolean(lua, 0);
    lua_pushvalue(lua, -2);
    return 2;
  }
  return lua_gettop(lua) - static_cast<int>(extra);
}

int pcall(lua_State* lua) {
  luaL_checkany(lua, 1);
  LuaState::of(lua).charge(lua, 1);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  const int status = lua_pcallk(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0, 0, finish_pcall);
  return finish_pcall(lua, status, 0);
}

int xpcall(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  LuaState::of(lua).charge(lua, 1);
  lua_pushboolean(lua, 1);
  lua_pushvalue(lua, 1);
  lua_rotate(lua, 3, 2);
  const int status = lua_pcallk(lua, arguments - 2, LUA_MULTRET, 2, 2, finish_pcall);
  return finish_pcall(lua, status, 2);
}

int to_string(lua_State* lua) {
  luaL_checkany(lua, 1);
  push_text(lua, 1);
  return 1;
}

// ---- pairs, next: keys in an order of their own ----

// A key that can be compared without Lua.
struct Key {
  enum class Kind : std::uint8_t { Integer, Number, Text, Other };
  Kind kind;
  std::int32_t index;  // in the table of keys
  union {
    lua_Integer integer;
    lua_Number number;
    const char* text;
  };
  std::size_t size;
};

// Numbers, then texts, then all others as they come.
int rank(const Key& key) noexcept {
  return key.kind == Key::Kind::Other ? 2 : key.kind == Key::Kind::Text ? 1 : 0;
}

long double value_of(const Key& key) noexcept {
  return key.kind == Key::Kind::Integer ? static_cast<long double>(key.integer)
                                        : static_cast<long double>(key.number);
}

bool is_before(const Key& a, const Key& b) noexcept {
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) == 0) return value_of(a) < value_of(b);
  if (rank(a) == 2) return a.index < b.index;
  const int order = std::memcmp(a.text, b.text, std::min(a.size, b.size));
  return order != 0 ? order < 0 : a.size < b.size;
}

Key key_at(lua_State* lua, int place, std::int32_t index) {
  Key key{};
  key.index = index;
  switch (lua_type(lua, place)) {
    case LUA_TNUMBER:
      if (lua_isinteger(lua, place) != 0) {
        key.kind = Key::Kind::Integer;
        key.integer = lua_tointeger(lua, place);
      } else {
        key.kind = Key::Kind::Number;
        key.number = lua_tonumber(lua, place);
      }
      break;
    case LUA_TSTRING:
      key.kind = Key::Kind::Text;
      key.text = lua_tolstring(lua, place, &key.size);
      break;
    default:
      key.kind = Key::Kind::Other;
  }
  return key;
}

// Pushes the keys of the first argument, in order, and returns how many they are.
std::int32_t push_keys(lua_State* lua) {
  LuaState& state = LuaState::of(lua);
  lua_newtable(lua);
  const int keys = lua_gettop(lua);
  std::int32_t count = 0;
  lua_pushnil(lua);
  while (lua_next(lua, 1) != 0) {
    lua_pop(lua, 1);
    lua_pushvalue(lua, -1);
    lua_rawseti(lua, keys, ++count);
    if (count % 64 == 0) state.charge(lua, 64);
  }
  if (count < 2) return count;
  auto* const sorted =
      static_cast<Key*>(lua_newuserdatauv(lua, sizeof(Key) * static_cast<std::size_t>(count), 0));
  bool in_order = true;
  for (std::int32_t i = 0; i < count; ++i) {
    lua_rawgeti(lua, keys, i + 1);
    sorted[i] = key_at(lua, -1, i + 1);
    lua_pop(lua, 1);
    if (i > 0 && in_order) in_order = !is_before(sorted[i], sorted[i - 1]);
    if (i % 64 == 0) state.charge(lua, 16);
  }
  if (!in_order) {
    std::int64_t comparisons = 0;
    std::sort(sorted, sorted + count, [&](const Key& a, const Key& b) {
      if (++comparisons % 1024 == 0) state.charge(lua, 256);
      return is_before(a, b);
    });
    lua_createtable(lua, count, 0);
    for (std::int32_t i = 0; i < count; ++i) {
      lua_rawgeti(lua, keys, sorted[i].index);
      lua_rawseti(lua, -2, i + 1);
      if (i % 64 == 0) state.charge(lua, 16);
    }
    lua_replace(lua, keys);
  }
  lua_settop(lua, keys);
  return count;
}

// Upvalues: the table, its keys, and how many of them have been visited.
int next_pair(lua_State* lua) {
  lua_settop(lua, 0);
  lua_Integer visited = lua_tointeger(lua, lua_upvalueindex(3));
  for (;; LuaState::of(lua).charge(lua, 1)) {
    lua_rawgeti(lua, lua_upvalueindex(2), ++visited);
    if (lua_isnil(lua, -1)) return 1;
    lua_pushvalue(lua, -1);
    if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) break;
    // It was removed on the way.
    lua_pop(lua, 2);
  }
  lua_pushinteger(lua, visited);
  lua_replace(lua, lua_upvalueindex(3));
  return 2;
}

int pairs(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  push_keys(lua);
  lua_pushinteger(lua, 0);
  push_function<next_pair>(lua, 3);
  return 1;
}

// Goes through the whole table to find the key that follows in the order of pairs.
int next(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  const std::int32_t count = push_keys(lua);
  std::int32_t at = 1;
  if (!lua_isnil(lua, 2)) {
    for (bool found = false; !found; ++at) {
      luaL_argcheck(lua, at <= count, 2, "no key of the table");
      lua_rawgeti(lua, 3, at);
      found = lua_rawequal(lua, 2, -1) != 0;
      lua_pop(lua, 1);
    }
  }
  lua_rawgeti(lua, 3, at);
  if (lua_isnil(lua, -1)) return 1;
  lua_pushvalue(lua, -1);
  lua_rawget(lua, 1);
  return 2;
}

}  // namespace

void pass(lua_State* lua, const char* library, const char* name) {
  lua_getfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(lua, -1, library);
  lua_getfield(lua, -1, name);
  lua_setfield(lua, -4, name);
  lua_pop(lua, 2);
}

std::string_view push_text(lua_State* lua, int value) {
  value = lua_absindex(lua, value);
  std::size_t size = 0;
  const char* text = nullptr;
  switch (lua_type(lua, value)) {
    case LUA_TTABLE:
    case LUA_TFUNCTION:
    case LUA_TTHREAD:
      text = lua_pushstring(lua, luaL_typename(lua, value));
      size = std::strlen(text);
      break;
    case LUA_TUSERDATA:
    case LUA_TLIGHTUSERDATA:
      // What has no text of its own has a name at most.
      if (luaL_getmetafield(lua, value, "__tostring") != LUA_TNIL) {
        lua_pop(lua, 1);
        text = luaL_tolstring(lua, value, &size);
      } else if (luaL_getmetafield(lua, value, "__name") == LUA_TSTRING) {
        text = lua_tolstring(lua, -1, &size);
      } else {
        text = lua_pushliteral(lua, "userdata");
        size = std::strlen(text);
      }
      break;
    default:
      text = luaL_tolstring(lua, value, &size);
  }
  return {text, size};
}

std::string_view check_text(lua_State* lua, int argument) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, argument, &size);
  return {text, size};
}

void add_base_functions(lua_State* lua) {
  for (const char* name :
       {"assert", "error", "ipairs", "rawequal", "rawlen", "select", "tonumber", "type"})
    pass(lua, LUA_GNAME, name);
  set_function<pcall>(lua, "pcall");
  set_function<xpcall>(lua, "xpcall");
  set_function<to_string>(lua, "tostring");
  set_function<pairs>(lua, "pairs");
  set_function<next>(lua, "next");
}

}  // namespace cupel::lua
