#include "sandbox.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "sandbox_functions.h"

namespace cupel::lua {
namespace {

constexpr std::size_t kLongestPrintedLine = 1000;
constexpr std::size_t kLongestModule = 64;
constexpr std::int64_t kPrinting = 1000;

// What functions of ours look up in the registry, by the addresses of these.
char world_key;
char modules_key;
char handling_key;

// SplitMix64: the same on every machine.
struct Random {
  std::uint64_t state;
  std::uint64_t next() noexcept {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t bits = state;
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31U);
  }
};

struct World {
  SandboxOptions options;
  Random random;
};

World& world_of(lua_State* lua) {
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &world_key);
  auto* const world = static_cast<World*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  return *world;
}

int random_number(lua_State* lua) {
  const std::uint64_t bits = world_of(lua).random.next();
  lua_Integer least = 1;
  lua_Integer most = 0;
  switch (lua_gettop(lua)) {
    case 0:
      lua_pushnumber(lua, static_cast<double>(bits >> 11U) * 0x1p-53);
      return 1;
    case 1:
      most = luaL_checkinteger(lua, 1);
      break;
    default:
      least = luaL_checkinteger(lua, 1);
      most = luaL_checkinteger(lua, 2);
  }
  luaL_argcheck(lua, least <= most, lua_gettop(lua), "the interval is empty");
  const std::uint64_t count =
      static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;
  const std::uint64_t number = count == 0 ? bits : bits % count;
  lua_pushinteger(lua, static_cast<lua_Integer>(static_cast<std::uint64_t>(least) + number));
  return 1;
}

void add_math_functions(lua_State* lua) {
  lua_newtable(lua);
  lua_getfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(lua, -1, LUA_MATHLIBNAME);
  for (const char* name :
       {"abs",  "acos", "asin", "atan", "ceil",      "cos",        "deg",  "exp",        "floor",
        "fmod", "huge", "log",  "max",  "min",       "maxinteger", "modf", "mininteger", "pi",
        "rad",  "sin",  "sqrt", "tan",  "tointeger", "type",       "ult"}) {
    lua_getfield(lua, -1, name);
    lua_setfield(lua, -4, name);
  }
  lua_pop(lua, 2);
  set_function<random_number>(lua, "random");
  lua_setfield(lua, -2, LUA_MATHLIBNAME);
}

int print(lua_State* lua) {
  LuaState::of(lua).charge(lua, kPrinting);
  std::string line;
  const int count = lua_gettop(lua);
  for (int i = 1; i <= count && line.size() <= kLongestPrintedLine; ++i) {
    if (i > 1) line += '\t';
    line += push_text(lua, i).substr(0, kLongestPrintedLine + 1);
    lua_settop(lua, count);
  }
  if (line.size() > kLongestPrintedLine) line = line.substr(0, kLongestPrintedLine) + "...";
  world_of(lua).options.print(line);
  return 0;
}

bool is_module_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestModule) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  return true;
}

std::string source_of(lua_State* lua, std::string_view name) {
  if (!is_module_name(name))
    throw UsageError("a module's name is letters, digits and '_', without its folder");
  LuaState::of(lua).charge(lua, kPrinting);
  // Where a rule stands is known from what was read when it began.
  if (globals_are_closed(lua))
    throw UsageError("the module " + std::string(name) +
                     " was not required while the file was read; require it outside of functions");
  const auto& read = world_of(lua).options.read_module;
  if (!read) throw UsageError("there are no modules here");
  return read(std::string(name));
}

int require_module(lua_State* lua) {
  const std::string name(check_text(lua, 1).substr(0, kLongestModule + 1));
  lua_settop(lua, 1);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &modules_key);
  lua_pushvalue(lua, 1);
  if (lua_rawget(lua, 2) == LUA_TLIGHTUSERDATA)
    return luaL_error(lua, "the module %s requires itself", name.c_str());
  if (!lua_isnil(lua, -1)) return 1;
  lua_settop(lua, 2);
  LuaState& state = LuaState::of(lua);
  const std::string source = source_of(lua, name);
  const int compiled = state.compile(lua, source, name + ".lua");
  if (state.is_over(compiled)) state.raise_limit(lua);
  if (compiled != LUA_OK) return lua_error(lua);
  note_uses(lua, name + ".lua");
  // While it is being loaded,
  lua_pushvalue(lua, 1);
  lua_pushlightuserdata(lua, &modules_key);
  lua_rawset(lua, 2);
  const int status = lua_pcall(lua, 0, 1, 0);
  if (state.is_over(status)) state.raise_limit(lua);
  if (status == LUA_OK && lua_isnil(lua, -1)) {
    lua_pushboolean(lua, 1);
    lua_replace(lua, 3);
  }
  // and what came of it.
  lua_pushvalue(lua, 1);
  if (status == LUA_OK)
    lua_pushvalue(lua, 3);
  else
    lua_pushnil(lua);
  lua_rawset(lua, 2);
  return status == LUA_OK ? 1 : lua_error(lua);
}

int build(lua_State* lua) {
  lua_pushvalue(lua, 1);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &world_key);
  lua_newtable(lua);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &modules_key);
  // Lua makes this text of its own outside of a protected call, where it may not lack memory.
  lua_pushliteral(lua, "error in error handling");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &handling_key);

  // The libraries are opened into globals that are thrown away.
  const std::initializer_list<std::pair<const char*, lua_CFunction>> libraries = {
      {LUA_GNAME, luaopen_base},       {LUA_COLIBNAME, luaopen_coroutine},
      {LUA_TABLIBNAME, luaopen_table}, {LUA_STRLIBNAME, luaopen_string},
      {LUA_UTF8LIBNAME, luaopen_utf8}, {LUA_MATHLIBNAME, luaopen_math}};
  for (const auto& [name, open] : libraries) {
    luaL_requiref(lua, name, open, 0);
    lua_pop(lua, 1);
  }
  lua_newtable(lua);
  const int globals = lua_gettop(lua);
  add_base_functions(lua);
  add_coroutine_functions(lua);
  add_table_functions(lua);
  add_text_functions(lua);
  add_math_functions(lua);
  set_function<print>(lua, "print");
  set_function<require_module>(lua, "require");
  lua_pushvalue(lua, globals);
  lua_setfield(lua, globals, LUA_GNAME);
  guard_globals(lua);
  lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_pushnil(lua);
  lua_setfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  return 0;
}

}  // namespace

void make_sandbox(LuaState& state, SandboxOptions options) {
  lua_State* const lua = state.get();
  const std::uint64_t seed = options.seed;
  auto world = std::make_shared<World>(World{std::move(options), {seed}});
  push_function<build>(lua);
  lua_pushlightuserdata(lua, world.get());
  state.keep(std::move(world));
  state.call(1, 0, "sandbox");
}

}  // namespace cupel::lua
