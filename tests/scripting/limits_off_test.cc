// What stops an attack is the limit that it names: without that one, it goes on until another stops
// it, and an attack on the allow-list does what it is after where it is given the library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scripting/script_attacks.h"
#include "scripting/script_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kMemory = std::size_t{8} << 20U;
constexpr std::int64_t kNoInstructions = 1'000'000'000'000;
constexpr std::size_t kNoMemory = std::size_t{1} << 40U;
constexpr auto kNoClock = std::chrono::minutes(5);

ScriptError outcome(const Attack& attack, const ScriptLimits& limits) {
  return AttackedScript(limits).error(attack.text);
}

class WithoutInstructions : public ::testing::TestWithParam<Attack> {};

TEST_P(WithoutInstructions, it_goes_on) {
  const ScriptError error = outcome(
      GetParam(),
      {.instructions = kNoInstructions, .memory = kMemory, .time = std::chrono::milliseconds(20)});
  EXPECT_NE(error.limit, ScriptLimit::Instructions) << error.what();
}

INSTANTIATE_TEST_SUITE_P(Script, WithoutInstructions, ::testing::ValuesIn(attacks("instructions")),
                         [](const auto& row) { return row.param.name; });

// Those that do not ask at once for more than machines have.
std::vector<Attack> attacks_on_memory() {
  static const std::set<std::string> huge = {
      "tensor_axis_of_nothing_to_huge", "tensor_limit_of_value_caught",  "tensor_stretched_mask",
      "tensor_stretched_outer_product", "tensor_value_fills_huge_shape", "tensor_zeros_huge"};
  std::vector<Attack> all = attacks("memory");
  std::erase_if(all, [](const Attack& attack) { return huge.contains(attack.name); });
  return all;
}

class WithoutMemory : public ::testing::TestWithParam<Attack> {};

TEST_P(WithoutMemory, it_goes_on) {
  const ScriptError error = outcome(
      GetParam(),
      {.instructions = 300'000, .memory = kNoMemory, .time = std::chrono::milliseconds(200)});
  // How long a text may be is another limit.
  EXPECT_THAT(error.problem, Not(HasSubstr("of memory is reached")));
}

INSTANTIATE_TEST_SUITE_P(Script, WithoutMemory, ::testing::ValuesIn(attacks_on_memory()),
                         [](const auto& row) { return row.param.name; });

class WithoutClock : public ::testing::TestWithParam<Attack> {};

// Little more than they take to begin with, where an instruction takes long.
std::int64_t instructions_for(const std::string& attack) {
  static const std::map<std::string, std::int64_t> few = {
      {"clock_byte", 5'000},      {"clock_compare_in_sort", 16'200}, {"clock_compare_nuls", 31'700},
      {"clock_equal", 40'000},    {"clock_gsub_function", 30'000},   {"clock_reverse", 50'000},
      {"clock_tonumber", 16'000}, {"clock_upper", 50'000},           {"clock_utf8_len", 16'000},
      {"clock_varargs", 330'000}, {"clock_varargs_packed", 270'000}};
  const auto entry = few.find(attack);
  return entry == few.end() ? 500'000 : entry->second;
}

TEST_P(WithoutClock, it_goes_on) {
  const ScriptError error = outcome(
      GetParam(),
      {.instructions = instructions_for(GetParam().name), .memory = kMemory, .time = kNoClock});
  EXPECT_NE(error.limit, ScriptLimit::Clock) << error.what();
  EXPECT_NE(error.limit, ScriptLimit::None) << error.what();
}

INSTANTIATE_TEST_SUITE_P(Script, WithoutClock, ::testing::ValuesIn(attacks("clock")),
                         [](const auto& row) { return row.param.name; });

// ---- the allow-list ----

// Those after what there is in this Lua: nobody could let in functions of other versions, and where
// a script makes an environment of its own, there is what it put there.
std::vector<Attack> attacks_on_libraries() {
  static const std::set<std::string> others = {"bit32",        "environment_of_its_own",
                                               "ffi",          "getfenv",
                                               "jit",          "module",
                                               "loadstring",   "newproxy",
                                               "setfenv",      "table_foreach",
                                               "unpack_of_5_1"};
  std::vector<Attack> all = attacks("allow-list");
  std::erase_if(all, [](const Attack& attack) { return others.contains(attack.name); });
  return all;
}

// What an attack says with all of Lua's libraries among its globals; empty: it came to its end.
// What would end or change this process is only looked for.
std::string with_libraries(const std::string& text) {
  AttackedScript script(
      {.instructions = 1'000'000, .memory = kMemory, .time = std::chrono::seconds(5)});
  lua_State* const lua = script.state.get();
  lua_newtable(lua);
  lua_setfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_openlibs(lua);  // into the globals of the registry, which are not those of scripts
  scripting_detail::LuaState::push_globals(lua);
  lua_pushglobaltable(lua);
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, -5);
  }
  lua_pop(lua, 1);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -2, LUA_GNAME);
  lua_pop(lua, 1);
  script.run(
      "os.exit, os.execute = function() end, function() end "
      "debug.sethook, debug.setmetatable = function() end, function() end "
      "collectgarbage = function() end "
      "package.loadlib = function() end "
      "library = require('string') package.loaded.library = {io = io} string.io = io");
  return script.error(text).problem;
}

class WithLibraries : public ::testing::TestWithParam<Attack> {};

TEST_P(WithLibraries, it_gets_what_it_is_after) {
  const std::string problem = with_libraries(GetParam().text);
  EXPECT_THAT(problem, Not(HasSubstr("there is no global"))) << problem;
  EXPECT_THAT(problem, Not(HasSubstr("a nil value"))) << problem;
}

INSTANTIATE_TEST_SUITE_P(Script, WithLibraries, ::testing::ValuesIn(attacks_on_libraries()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace cupel::testing
