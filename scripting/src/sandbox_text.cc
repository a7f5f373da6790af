// Functions on texts: Lua's own behind a check of their arguments, and stand-ins.
//
// Lua's functions take memory without asking for garbage to be collected, so there is a check of
// sizes before each. `rep` counts its work, `format` shows no address. A text of more than 1 MiB is
// an error.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "arguments.h"
#include "sandbox_functions.h"
#include "text_builder.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kBlock = 4096;

// Calls Lua's own function, the upvalue, with all arguments. It takes memory without asking for
// garbage to be collected.
int pass_on(lua_State* lua) {
  std::size_t bytes = 0;
  const int arguments = lua_gettop(lua);
  for (int i = 1; i <= arguments; ++i) bytes += text_at(lua, i).size();
  if (bytes > kLongestText) return luaL_error(lua, "a text of more than 1 MiB");
  LuaState::of(lua).make_room(lua, 4 * bytes + 1024);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, arguments, LUA_MULTRET);
  return lua_gettop(lua);
}

int repeat(lua_State* lua) {
  const std::string_view piece = check_text(lua, 1);
  const lua_Integer times = luaL_checkinteger(lua, 2);
  const std::string_view separator = check_optional_text(lua, 3);
  const std::size_t each = piece.size() + separator.size();
  if (times <= 0 || each == 0) return push(lua, "");
  // The builder refuses a text that is too long.
  const std::size_t count = std::min(static_cast<std::size_t>(times), kLongestText / each + 2);
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
  add_functions(lua, {LUA_STRLIBNAME, luaopen_string}, {"byte", "char", "len", "sub"},
                {{"lower", guarded<pass_on>},
                 {"reverse", guarded<pass_on>},
                 {"upper", guarded<pass_on>},
                 {"format", guarded<format>},
                 {"rep", guarded<repeat>}});
  add_pattern_functions(lua);
  // Methods of texts are these, too.
  push(lua, "");
  lua_pushvalue(lua, -2);
  set_index(lua);
  lua_pop(lua, 1);
  lua_setfield(lua, -2, LUA_STRLIBNAME);
  add_library(lua, {LUA_UTF8LIBNAME, luaopen_utf8}, {"char", "codepoint", "codes", "len", "offset"},
              {});
}

}  // namespace cupel::scripting_detail
