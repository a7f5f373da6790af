// Functions on tables that count their rounds: a call of Lua's own goes through a whole table while
// nobody reads the clock, and its sort takes the pivot from the clock.
//
// `sort` here is a stable merge sort; an error in its comparison leaves the table as it was.
// `concat` and `unpack` have limits of text and of results.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sandbox_functions.h"
#include "text_builder.h"

namespace cupel::scripting_detail {
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

// The second argument, a position between two others.
lua_Integer position(lua_State* lua, lua_Integer least, lua_Integer most) {
  const lua_Integer place = luaL_checkinteger(lua, 2);
  luaL_argcheck(lua, place >= least && place <= most, 2, "position out of bounds");
  return place;
}

// The first and the last index of a part, two arguments; by default those of the whole.
std::pair<lua_Integer, lua_Integer> part(lua_State* lua, int argument, lua_Integer size) {
  const lua_Integer first = luaL_optinteger(lua, argument, 1);
  return {first, luaL_optinteger(lua, argument + 1, size)};
}

void copy_element(lua_State* lua, int from, lua_Integer index, int to, lua_Integer place) {
  lua_geti(lua, from, index);
  lua_seti(lua, to, place);
}

int insert(lua_State* lua) {
  const lua_Integer end = length_of(lua, 1) + 1;
  const int arguments = lua_gettop(lua);
  if (arguments != 2 && arguments != 3)
    return luaL_error(lua, "wrong number of arguments to insert");
  const lua_Integer place = arguments == 3 ? position(lua, 1, end) : end;
  Rounds rounds(lua);
  for (lua_Integer i = end; i > place; --i, rounds.one()) copy_element(lua, 1, i - 1, 1, i);
  lua_seti(lua, 1, place);
  return 0;
}

int remove(lua_State* lua) {
  const lua_Integer size = length_of(lua, 1);
  lua_Integer place = size;
  if (lua_gettop(lua) > 1) place = position(lua, std::min<lua_Integer>(size, 1), size + 1);
  lua_geti(lua, 1, place);
  Rounds rounds(lua);
  for (; place < size; ++place, rounds.one()) copy_element(lua, 1, place + 1, 1, place);
  push(lua, nullptr);
  lua_seti(lua, 1, place);
  return 1;
}

int concat(lua_State* lua) {
  const lua_Integer size = length_of(lua, 1);
  const std::string_view separator = check_optional_text(lua, 2);
  const auto [first, last] = part(lua, 3, size);
  TextBuilder text(lua);
  Rounds rounds(lua);
  for (lua_Integer i = first; i <= last; ++i, rounds.one()) {
    const int type = lua_geti(lua, 1, i);
    if (type != LUA_TSTRING && type != LUA_TNUMBER)
      return luaL_error(lua, "a %s at index %I cannot be put into a text", luaL_typename(lua, -1),
                        static_cast<LUAI_UACINT>(i));
    text.append(check_text(lua, -1));
    lua_pop(lua, 1);
    if (i == last) break;  // the next one may not be a number
    text.append(separator);
  }
  text.push();
  return 1;
}

int unpack(lua_State* lua) {
  const lua_Integer size = length_of(lua, 1);
  const auto [first, last] = part(lua, 2, size);
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
      copy_element(lua, 1, first + i, target, to + i);
    }
  }
  lua_pushvalue(lua, target);
  return 1;
}

// Whether the value below the top comes before the one on top; leaves others in their places.
bool is_before(lua_State* lua) {
  if (lua_isnil(lua, 2)) return lua_compare(lua, -2, -1, LUA_OPLT) != 0;
  lua_pushvalue(lua, 2);
  lua_insert(lua, -3);
  lua_call(lua, 2, 1);
  return lua_toboolean(lua, -1) != 0;
}

// Merges neighbouring runs of one table into the other one; they are the places 3 and 4 of the
// stack, and all of it.
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
        take_right = is_before(lua);
        lua_settop(lua, 4);
      }
      copy_element(lua, from, take_right ? right++ : left++, to, out);
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
    copy_element(lua, from, i, 1, i);
  }
  return 0;
}

}  // namespace

void add_table_functions(lua_State* lua) {
  add_library(lua, {LUA_TABLIBNAME, luaopen_table}, {"pack"},
              {{"insert", guarded<insert>},
               {"remove", guarded<remove>},
               {"concat", guarded<concat>},
               {"unpack", guarded<unpack>},
               {"move", guarded<move>},
               {"sort", guarded<sort>}});
}

}  // namespace cupel::scripting_detail
