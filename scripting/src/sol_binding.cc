#include "sol_binding.h"

#include <exception>
#include <new>

#include "data_error.h"

namespace cupel::scripting_detail {
namespace {

// Pushes the error for the exception that sol2's trampoline is handling, which then raises it.
int push_error(lua_State* lua, sol::optional<const std::exception&> error, sol::string_view text) {
  if (!error) {  // sol2 also catches texts; no function of ours throws one
    lua_pushlstring(lua, text.data(), text.size());
    return 1;
  }
  LuaState::push_error(lua, *error);
  return 1;
}

}  // namespace

void install_exception_handler(lua_State* lua) {
  sol::set_default_exception_handler(lua, &push_error);
}

}  // namespace cupel::scripting_detail
