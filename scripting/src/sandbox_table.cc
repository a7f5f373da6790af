// Lua's own go through a table without anybody looking at the clock, and sort by a pivot that they
// take from it. These count, and sort alike at every run.

#include <algorithm>
#include <cstdint>

#include "sandbox_functions.h"
#include "text_builder.h"

namespace cupel::lua {
namespace {

constexpr lua_Integer kMostResults = 100'000;

// Counts the rounds of a loop.
class Rounds {
 public:
  explicit Rounds(lua_State* lua) : lua_(lua) {}
  void one() {
    if (++rounds_ % kTogether == 0) LuaState::of(lua_).charge(lua_, kTogether);
  }

 private:
  static constexpr std::int64_t kTogether = 64;
  lua_State* lua_;
  std::int64_t rounds_ = 0;
};

lua_Integer length_of(lua_State* lua, int table) {
  luaL_checktype(lua, table, LUA_TTABLE);
  return static_cast<lua_Integer>(lua_rawlen(lua, table));
}

int insert(lua_State* lua) {
  const lua_Integer end = length_of(lua, 1) + 1;
  lua_Integer place = end;
  if (lua_gettop(lua) == 3) {
    place = luaL_checkinteger(lua, 2);
    luaL_argcheck(lua, place >= 1 && place <= end, 2, "position out of bounds");
  } else if (lua_gettop(lua) != 2) {
    return luaL_error(lua, "wrong number of arguments to insert");
  }
  Rounds rounds(lua);
  for (lua_Integer i = end; i > place; --i, rounds.one()) {
    lua_geti(lua, 1, i - 1);
    lua_seti(lua, 1, i);
  }
  lua_seti(lua, 1, place);
  return 0;
}

int remove(lua_State* lua) {
  const lua_Integer size = length_of(lua, 1);
  lua_Integer place = size;
  if (lua_gettop(lua) > 1) {
    place = luaL_checkinteger(lua, 2);
    luaL_argcheck(lua, place == size || (place >= 1 && place <= size + 1), 2,
                  "position out of bounds");
  }
  lua_geti(lua, 1, place);
  Rounds rounds(lua);
  for (; place < size; ++place, rounds.one()) {
    lua_geti(lua, 1, place + 1);
    lua_seti(lua, 1, place);
  }
  lua_pushnil(lua);
  lua_seti(lua, 1, place);
  return 1;
}

int concat(lua_State* lua) {
  const lua_Integer size = length_of(lua, 1);
  const std::string_view separator = lua_isnoneornil(lua, 2) ? "" : check_text(lua, 2);
  const lua_Integer first = luaL_optinteger(lua, 3, 1);
  const lua_Integer last = luaL_optinteger(lua, 4, size);
  TextBuilder text(lua);
  Rounds rounds(lua);
  for (lua_Integer i = first; i <= last; ++i, rounds.one()) {
    const int type = lua_geti(lua, 1, i);
    if (type != LUA_TSTRING && type != LUA_TNUMBER)
      return luaL_error(lua, "a %s at index %I cannot be put into a text", luaL_typename(lua, -1),
                        static_cast<LUAI_UACINT>(i));
    std::size_t length = 0;
    const char* const element = lua_tolstring(lua, -1, &length);
    text.append({element, length});
    lua_pop(lua, 1);
    if (i == last) break;  // the next one may not be a number
    text.append(separator);
  }
  text.push();
  return 1;
}

int unpack(lua_State* lua) {
  const lua_Integer size = length_of(lua, 1);
  const lua_Integer first = luaL_optinteger(lua, 2, 1);
  const lua_Integer last = luaL_optinteger(lua, 3, size);
  if (first > last) return 0;
  const auto beyond = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  if (beyond >= kMostResults) return luaL_error(lua, "too many results to unpack");
  const int count = static_cast<int>(beyond) + 1;
  LuaState::of(lua).charge(lua, count);
  luaL_checkstack(lua, count, "too many results to unpack");
  for (int i = 0; i < count; ++i) lua_geti(lua, 1, first + i);
  return count;
}

int move(lua_State* lua) {
  const int target = lua_isnoneornil(lua, 5) ? 1 : 5;
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_checktype(lua, target, LUA_TTABLE);
  const lua_Integer first = luaL_checkinteger(lua, 2);
  const lua_Integer last = luaL_checkinteger(lua, 3);
  const lua_Integer to = luaL_checkinteger(lua, 4);
  if (first <= last) {
    luaL_argcheck(lua, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
    const lua_Integer count = last - first + 1;
    luaL_argcheck(lua, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
    Rounds rounds(lua);
    const bool forward =
        to > last || to <= first || (target != 1 && lua_rawequal(lua, 1, target) == 0);
    for (lua_Integer n = 0; n < count; ++n, rounds.one()) {
      const lua_Integer i = forward ? n : count - 1 - n;
      lua_geti(lua, 1, first + i);
      lua_seti(lua, target, to + i);
    }
  }
  lua_pushvalue(lua, target);
  return 1;
}

// Whether the value at `a` comes before the one at `b`, both beside the comparison's result.
bool is_before(lua_State* lua, int a, int b) {
  if (lua_isnil(lua, 2)) return lua_compare(lua, a, b, LUA_OPLT) != 0;
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, a < 0 ? a - 1 : a);
  lua_pushvalue(lua, b < 0 ? b - 2 : b);
  lua_call(lua, 2, 1);
  const bool before = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  return before;
}

// Merges neighbouring runs of one table into the other one.
void merge_runs(lua_State* lua, int from, int to, lua_Integer size, lua_Integer run) {
  for (lua_Integer begin = 1; begin <= size; begin += 2 * run) {
    const lua_Integer middle = std::min(begin + run, size + 1);
    const lua_Integer end = std::min(begin + 2 * run, size + 1);
    lua_Integer left = begin;
    lua_Integer right = middle;
    for (lua_Integer out = begin; out < end; ++out) {
      // Comparators of Lua's own run no instructions, and texts may be long.
      LuaState::of(lua).charge(lua, 1);
      bool take_right = left == middle;
      if (left < middle && right < end) {
        lua_rawgeti(lua, from, right);
        lua_rawgeti(lua, from, left);
        take_right = is_before(lua, -2, -1);
        lua_pop(lua, 2);
      }
      lua_rawgeti(lua, from, take_right ? right++ : left++);
      lua_rawseti(lua, to, out);
    }
  }
}

// Stable, and as long as any other with a comparator that contradicts itself. An error on the way
// leaves the table as it was.
int sort(lua_State* lua) {
  const lua_Integer size = length_of(lua, 1);
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  if (size < 2) return 0;
  luaL_argcheck(lua, size < (1 << 30), 1, "too many elements to sort");
  lua_createtable(lua, static_cast<int>(size), 0);
  lua_createtable(lua, static_cast<int>(size), 0);
  Rounds rounds(lua);
  for (lua_Integer i = 1; i <= size; ++i, rounds.one()) {
    lua_rawgeti(lua, 1, i);
    lua_rawseti(lua, 3, i);
  }
  int from = 3;
  for (lua_Integer run = 1; run < size; run *= 2, from = 7 - from)
    merge_runs(lua, from, 7 - from, size, run);
  for (lua_Integer i = 1; i <= size; ++i, rounds.one()) {
    lua_rawgeti(lua, from, i);
    lua_seti(lua, 1, i);
  }
  return 0;
}

}  // namespace

void add_table_functions(lua_State* lua) {
  lua_newtable(lua);
  pass(lua, LUA_TABLIBNAME, "pack");
  set_function<insert>(lua, "insert");
  set_function<remove>(lua, "remove");
  set_function<concat>(lua, "concat");
  set_function<unpack>(lua, "unpack");
  set_function<move>(lua, "move");
  set_function<sort>(lua, "sort");
  lua_setfield(lua, -2, LUA_TABLIBNAME);
}

}  // namespace cupel::lua
