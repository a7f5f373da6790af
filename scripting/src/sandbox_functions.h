#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "lua_state.h"

namespace cupel::scripting_detail {

// Each adds allowed functions to the table on top of the stack.
void add_base_functions(lua_State* lua);
void add_coroutine_functions(lua_State* lua);
void add_table_functions(lua_State* lua);
void add_text_functions(lua_State* lua);
void add_pattern_functions(lua_State* lua);  ///< To the table of text functions.

/// Makes reading a global that there is not an error that names the nearest one, and setting a new
/// one an error once globals are closed; of the table of globals on top.
void guard_globals(lua_State* lua);
bool globals_are_closed(lua_State* lua);
/// Records the globals that the function on top uses.
void note_uses(lua_State* lua, const std::string& chunk);

/// Opens a library of Lua's and sets functions in the table on top: `originals` of the library, and
/// `ours`. The upvalue of each of ours is the library's function of the same name, or nil.
void add_functions(lua_State* lua, luaL_Reg library, std::initializer_list<const char*> originals,
                   std::initializer_list<luaL_Reg> ours);
/// The same in a new table, which becomes the field of the library's name.
void add_library(lua_State* lua, luaL_Reg library, std::initializer_list<const char*> originals,
                 std::initializer_list<luaL_Reg> ours);
/// Makes the value on top the `__index` of a new metatable of the value below it, and pops it.
void set_index(lua_State* lua);

/// An argument that is a whole number as Lua's own functions take it; nothing where it is absent.
struct OptionalInteger {
  std::optional<lua_Integer> value;
  static OptionalInteger from_lua(lua_State* lua, int place) {
    if (lua_isnone(lua, place)) return {};
    return {luaL_checkinteger(lua, place)};
  }
};

/// Pushes a value as text, without the address of anything, and returns it.
std::string_view push_text(lua_State* lua, int value);

/// The text of an argument, or of a number as Lua writes it; it stays on the stack.
std::string_view check_text(lua_State* lua, int argument);
/// The same of an argument that may be absent, which is an empty text.
std::string_view check_optional_text(lua_State* lua, int argument);

}  // namespace cupel::scripting_detail
