// Basic functions for scripts: stand-ins for those of Lua's that would let a script out of its
// limits or show what differs from run to run, such as addresses and the order of a hash table.
//
// `pairs` and `next` visit numbers, then texts, in order. `pcall` and `xpcall` pass a limit that is
// reached on. These functions use Lua's own interface: they run in inner loops, and pcall may
// yield.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "arguments.h"
#include "sandbox_functions.h"

namespace cupel::scripting_detail {
namespace {

// A limit that was reached is no error to be caught.
int finish_pcall(lua_State* lua, int status, lua_KContext extra) {
  LuaState& state = LuaState::of(lua);
  if (state.is_over(status)) state.raise_limit(lua);
  if (status != LUA_OK && status != LUA_YIELD) {
    push(lua, false);
    lua_pushvalue(lua, -2);
    return 2;
  }
  return lua_gettop(lua) - static_cast<int>(extra);
}

// The results begin above the place of the handler, which is 0 where there is none.
int call_protected(lua_State* lua, int arguments, int handler) {
  LuaState::of(lua).charge(lua, 1);
  const int status = lua_pcallk(lua, arguments, LUA_MULTRET, handler, handler, finish_pcall);
  return finish_pcall(lua, status, handler);
}

int pcall(lua_State* lua) {
  luaL_checkany(lua, 1);
  push(lua, true);
  lua_insert(lua, 1);
  return call_protected(lua, lua_gettop(lua) - 2, 0);
}

int xpcall(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  push(lua, true);
  lua_pushvalue(lua, 1);
  lua_rotate(lua, 3, 2);
  return call_protected(lua, arguments - 2, 2);
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
  int is_integer = 0;
  switch (lua_type(lua, place)) {
    case LUA_TNUMBER:
      key.kind = Key::Kind::Integer;
      key.integer = lua_tointegerx(lua, place, &is_integer);
      if (is_integer != 0) break;
      key.kind = Key::Kind::Number;
      key.number = lua_tonumber(lua, place);
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
  for_each_entry(lua, 1, [&] {
    lua_pushvalue(lua, -2);
    lua_rawseti(lua, keys, ++count);
    if (count % 64 == 0) state.charge(lua, 64);
  });
  if (count < 2) return count;
  auto* const sorted =
      static_cast<Key*>(lua_newuserdatauv(lua, sizeof(Key) * static_cast<std::size_t>(count), 0));
  bool in_order = true;
  for_each_element(lua, keys, static_cast<lua_Unsigned>(count), [&](lua_Unsigned index) {
    const auto i = static_cast<std::int32_t>(index) - 1;
    sorted[i] = key_at(lua, -1, i + 1);
    if (i > 0 && in_order) in_order = !is_before(sorted[i], sorted[i - 1]);
    if (i % 64 == 0) state.charge(lua, 16);
  });
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
    if (lua_rawgeti(lua, lua_upvalueindex(2), ++visited) == LUA_TNIL) return 1;
    lua_pushvalue(lua, -1);
    if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) break;
    // It was removed on the way.
    lua_pop(lua, 2);
  }
  push(lua, visited);
  lua_replace(lua, lua_upvalueindex(3));
  return 2;
}

int pairs(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  push_keys(lua);
  push(lua, 0);
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
  if (lua_rawgeti(lua, 3, at) == LUA_TNIL) return 1;
  lua_pushvalue(lua, -1);
  lua_rawget(lua, 1);
  return 2;
}

}  // namespace

void add_functions(lua_State* lua, luaL_Reg library, std::initializer_list<const char*> originals,
                   std::initializer_list<luaL_Reg> ours) {
  luaL_requiref(lua, library.name, library.func, 0);
  for (const char* name : originals) {
    lua_getfield(lua, -1, name);
    lua_setfield(lua, -3, name);
  }
  for (const luaL_Reg& function : ours) {
    lua_getfield(lua, -1, function.name);
    lua_pushcclosure(lua, function.func, 1);
    lua_setfield(lua, -3, function.name);
  }
  lua_pop(lua, 1);
}

void add_library(lua_State* lua, luaL_Reg library, std::initializer_list<const char*> originals,
                 std::initializer_list<luaL_Reg> ours) {
  lua_newtable(lua);
  add_functions(lua, library, originals, ours);
  lua_setfield(lua, -2, library.name);
}

void set_index(lua_State* lua) {
  lua_newtable(lua);
  lua_insert(lua, -2);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

std::string_view push_text(lua_State* lua, int value) {
  value = lua_absindex(lua, value);
  const int type = lua_type(lua, value);
  if (type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TTHREAD) {
    push(lua, lua_typename(lua, type));
  } else if (type != LUA_TUSERDATA && type != LUA_TLIGHTUSERDATA) {
    luaL_tolstring(lua, value, nullptr);
  } else if (luaL_callmeta(lua, value, "__tostring") == 0) {
    // What has no text of its own has a name at most.
    if (luaL_getmetafield(lua, value, "__name") == LUA_TNIL) push(lua, "userdata");
  }
  return check_text(lua, -1);
}

std::string_view check_text(lua_State* lua, int argument) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, argument, &size);
  return {text, size};
}

std::string_view check_optional_text(lua_State* lua, int argument) {
  return lua_isnoneornil(lua, argument) ? std::string_view() : check_text(lua, argument);
}

void add_base_functions(lua_State* lua) {
  add_functions(lua, {LUA_GNAME, luaopen_base},
                {"assert", "error", "ipairs", "rawequal", "rawlen", "select", "tonumber", "type"},
                {{"pcall", guarded<pcall>},
                 {"xpcall", guarded<xpcall>},
                 {"tostring", guarded<to_string>},
                 {"pairs", guarded<pairs>},
                 {"next", guarded<next>}});
}

}  // namespace cupel::scripting_detail
