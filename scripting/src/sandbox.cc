// The globals of scripts, made from nothing: an allow-list.
//
// Lua's libraries are opened, the allowed functions are copied into a table of ours, and the
// libraries are dropped. That table becomes the _ENV of every script. `print` goes to the owner of
// the state, `require` reads a module by name only, and random numbers follow from a seed. Building
// runs inside LuaState::call, so memory that runs out is a ScriptError.

#include "sandbox.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "sandbox_functions.h"
#include "sol_binding.h"

namespace cupel::scripting_detail {
namespace {

constexpr std::size_t kLongestPrintedLine = 1000;
constexpr std::size_t kLongestModule = 64;
constexpr std::int64_t kPrinting = 1000;

// What functions of ours look up in the registry, by the addresses of these.
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

World& world_of(lua_State* lua) { return LuaState::of(lua).kept<World>(); }

// random(), random(most), random(least, most)
std::variant<double, lua_Integer> random_number(OptionalInteger first, OptionalInteger second,
                                                sol::this_state lua) {
  const std::uint64_t bits = world_of(lua).random.next();
  if (!first.value) return static_cast<double>(bits >> 11U) * 0x1p-53;
  const lua_Integer least = second.value ? *first.value : 1;
  const lua_Integer most = second.value.value_or(*first.value);
  luaL_argcheck(lua, least <= most, second.value ? 2 : 1, "the interval is empty");
  const std::uint64_t count =
      static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;
  const std::uint64_t number = count == 0 ? bits : bits % count;
  return static_cast<lua_Integer>(static_cast<std::uint64_t>(least) + number);
}

void add_math_functions(lua_State* lua) {
  add_library(
      lua, {LUA_MATHLIBNAME, luaopen_math},
      {"abs",  "acos", "asin", "atan", "ceil",      "cos",        "deg",  "exp",        "floor",
       "fmod", "huge", "log",  "max",  "min",       "maxinteger", "modf", "mininteger", "pi",
       "rad",  "sin",  "sqrt", "tan",  "tointeger", "type",       "ult"},
      {{"random", method<&random_number>("random").function}});
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
  return !name.empty() && name.size() <= kLongestModule && std::ranges::all_of(name, is_word);
}

std::string source_of(lua_State* lua, std::string_view name) {
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
  if (!is_module_name(name))
    throw UsageError("a module's name is letters, digits and '_', without its folder");
  lua_settop(lua, 0);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &modules_key);
  const int known = lua_getfield(lua, 1, name.c_str());
  if (known == LUA_TLIGHTUSERDATA)
    return luaL_error(lua, "the module %s requires itself", name.c_str());
  if (known != LUA_TNIL) return 1;
  lua_settop(lua, 1);
  LuaState& state = LuaState::of(lua);
  const std::string source = source_of(lua, name);
  const int compiled = state.compile(lua, source, name + ".lua");
  if (state.is_over(compiled)) state.raise_limit(lua);
  if (compiled != LUA_OK) return lua_error(lua);
  note_uses(lua, name + ".lua");
  // While it is being loaded,
  lua_pushlightuserdata(lua, &modules_key);
  lua_setfield(lua, 1, name.c_str());
  const int status = lua_pcall(lua, 0, 1, 0);
  if (state.is_over(status)) state.raise_limit(lua);
  if (status == LUA_OK && lua_isnil(lua, -1)) {
    push(lua, true);
    lua_replace(lua, 2);
  }
  // and what came of it.
  if (status == LUA_OK)
    lua_pushvalue(lua, 2);
  else
    push(lua, nullptr);
  lua_setfield(lua, 1, name.c_str());
  return status == LUA_OK ? 1 : lua_error(lua);
}

int build(lua_State* lua) {
  lua_newtable(lua);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &modules_key);
  // Lua makes this text of its own outside of a protected call, where it may not lack memory.
  push(lua, "error in error handling");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &handling_key);

  // Lua's libraries are opened into globals that are thrown away.
  lua_newtable(lua);
  add_base_functions(lua);
  add_coroutine_functions(lua);
  add_table_functions(lua);
  add_text_functions(lua);
  add_math_functions(lua);
  set_function<print>(lua, "print");
  set_function<require_module>(lua, "require");
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -2, LUA_GNAME);
  guard_globals(lua);
  LuaState::set_globals(lua);
  install_exception_handler(lua);
  push(lua, nullptr);
  lua_setfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  return 0;
}

}  // namespace

void set_seed(LuaState& state, std::uint64_t seed) { world_of(state.get()).random = {seed}; }

void make_sandbox(LuaState& state, SandboxOptions options) {
  const std::uint64_t seed = options.seed;
  state.keep(World{std::move(options), {seed}});
  push_function<build>(state.get());
  state.call(0, 0, "sandbox");
}

}  // namespace cupel::scripting_detail
