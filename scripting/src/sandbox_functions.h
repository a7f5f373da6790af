#pragma once

#include <string>
#include <string_view>

#include "lua_state.h"

namespace cupel::lua {

// Each adds allowed functions to the table on top of the stack, from the libraries in the
// registry's table of loaded ones.
void add_base_functions(lua_State* lua);
void add_coroutine_functions(lua_State* lua);
void add_table_functions(lua_State* lua);
void add_text_functions(lua_State* lua);
void add_pattern_functions(lua_State* lua);  ///< To the table of text functions.

/// Makes reading a global that there is not an error that names the nearest one, and setting a new
/// one an error once globals are closed; of the table of globals on top.
void guard_globals(lua_State* lua);
bool globals_are_closed(lua_State* lua);
/// Takes note of the globals that the function on top uses.
void note_uses(lua_State* lua, const std::string& chunk);

/// Sets a function of Lua's own in the table on top.
void pass(lua_State* lua, const char* library, const char* name);

/// Pushes a value as text, without the address of anything, and returns it.
std::string_view push_text(lua_State* lua, int value);

/// The text of an argument, which stays on the stack.
std::string_view check_text(lua_State* lua, int argument);

}  // namespace cupel::lua
