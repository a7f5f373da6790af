#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox_functions.h"
#include "text_builder.h"

namespace cupel::lua {
namespace {

constexpr std::size_t kBlock = 4096;

// Calls Lua's own function, the upvalue, with all arguments. It takes memory without asking for
// garbage to be collected.
int pass_on(lua_State* lua) {
  std::size_t bytes = 0;
  for (int i = 1; i <= lua_gettop(lua); ++i)
    if (lua_type(lua, i) == LUA_TSTRING) bytes += lua_rawlen(lua, i);
  if (bytes > kLongestText) return luaL_error(lua, "a text of more than 1 MiB");
  LuaState::of(lua).make_room(lua, 4 * bytes + 1024);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

// Adds a function of Lua's own to the table on top, called by `instead`.
template <int (*kInstead)(lua_State*)>
void replace(lua_State* lua, const char* name) {
  lua_getfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(lua, -1, LUA_STRLIBNAME);
  lua_getfield(lua, -1, name);
  push_function<kInstead>(lua, 1);
  lua_setfield(lua, -4, name);
  lua_pop(lua, 2);
}

int repeat(lua_State* lua) {
  const std::string_view piece = check_text(lua, 1);
  const lua_Integer times = luaL_checkinteger(lua, 2);
  const std::string_view separator = lua_isnoneornil(lua, 3) ? "" : check_text(lua, 3);
  const std::size_t each = piece.size() + separator.size();
  if (times <= 0 || each == 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  if (static_cast<std::uint64_t>(times) > kLongestText / each + 1)
    return luaL_error(lua, "a text of more than 1 MiB");
  const auto count = static_cast<std::size_t>(times);
  TextBuilder text(lua, count * each - separator.size());
  text.append(piece);
  // Small pieces many at a time.
  const std::size_t together = std::max<std::size_t>(1, kBlock / each);
  std::string block;
  for (std::size_t i = 0; i < together && each <= kBlock; ++i)
    block.append(separator).append(piece);
  for (std::size_t left = count - 1; left > 0;) {
    const std::size_t now = std::min(left, together);
    if (each <= kBlock) {
      text.append(std::string_view(block).substr(0, now * each));
    } else {
      text.append(separator);
      text.append(piece);
    }
    left -= now;
  }
  text.push();
  return 1;
}

// Values of %s whose text Lua would make of an address become texts here; %p is refused.
int format(lua_State* lua) {
  const std::string_view form = check_text(lua, 1);
  int argument = 1;
  for (std::size_t at = 0; at < form.size(); ++at) {
    if (form[at] != '%') continue;
    if (++at < form.size() && form[at] == '%') continue;
    ++argument;
    at = form.find_first_not_of("-+ #0123456789.", at);
    if (at == std::string_view::npos) break;
    if (form[at] == 'p') return luaL_error(lua, "%%p is no format here: addresses are not shown");
    if (form[at] != 's' || lua_isnone(lua, argument) || lua_isstring(lua, argument) != 0) continue;
    push_text(lua, argument);
    lua_replace(lua, argument);
  }
  return pass_on(lua);
}

}  // namespace

void add_text_functions(lua_State* lua) {
  lua_newtable(lua);
  for (const char* name : {"byte", "char", "len", "sub"}) pass(lua, LUA_STRLIBNAME, name);
  replace<pass_on>(lua, "lower");
  replace<pass_on>(lua, "reverse");
  replace<pass_on>(lua, "upper");
  replace<format>(lua, "format");
  set_function<repeat>(lua, "rep");
  add_pattern_functions(lua);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, LUA_STRLIBNAME);
  // Methods of texts are these, too.
  lua_pushliteral(lua, "");
  lua_newtable(lua);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 2);
  lua_newtable(lua);
  for (const char* name : {"char", "codepoint", "codes", "len", "offset"})
    pass(lua, LUA_UTF8LIBNAME, name);
  lua_setfield(lua, -2, LUA_UTF8LIBNAME);
}

}  // namespace cupel::lua
