#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cupel/core/error.h"
#include "scripting/script_fixture.h"

namespace cupel {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::Script;
using ::testing::SizeIs;

/// All that scripts reach from a value on top of the stack, by tables and metatables: one line
/// each.
class Reach {
 public:
  explicit Reach(lua_State* lua) : lua_(lua) {}
  void look(const std::string& path) {
    const std::string type = luaL_typename(lua_, -1);
    if (!path.empty()) lines.insert(path + " " + type);
    if (lua_istable(lua_, -1) && !seen_.insert(lua_topointer(lua_, -1)).second) return;
    if (lua_getmetatable(lua_, -1) != 0) {
      metatables.insert(path);
      lua_pop(lua_, 1);
    }
    if (!lua_istable(lua_, -1)) return;
    lua_pushnil(lua_);
    while (lua_next(lua_, -2) != 0) {
      lua_pushvalue(lua_, -2);
      const std::string key = lua_tostring(lua_, -1);
      lua_pop(lua_, 1);
      look(path.empty() ? key : path + "." + key);
      lua_pop(lua_, 1);
    }
  }
  std::set<std::string> lines;
  std::set<std::string> metatables;

 private:
  lua_State* lua_;
  std::set<const void*> seen_;
};

TEST(Sandbox, scripts_reach_this_and_nothing_else) {
  Script script;
  lua_State* const lua = script.state.get();
  scripting_detail::LuaState::push_globals(lua);
  Reach reach(lua);
  reach.look("");
  lua_pop(lua, 1);
  EXPECT_THAT(reach.lines, ElementsAreArray({
                               "_G table",
                               "assert function",
                               "coroutine table",
                               "coroutine.create function",
                               "coroutine.isyieldable function",
                               "coroutine.resume function",
                               "coroutine.running function",
                               "coroutine.status function",
                               "coroutine.wrap function",
                               "coroutine.yield function",
                               "error function",
                               "ipairs function",
                               "math table",
                               "math.abs function",
                               "math.acos function",
                               "math.asin function",
                               "math.atan function",
                               "math.ceil function",
                               "math.cos function",
                               "math.deg function",
                               "math.exp function",
                               "math.floor function",
                               "math.fmod function",
                               "math.huge number",
                               "math.log function",
                               "math.max function",
                               "math.maxinteger number",
                               "math.min function",
                               "math.mininteger number",
                               "math.modf function",
                               "math.pi number",
                               "math.rad function",
                               "math.random function",
                               "math.sin function",
                               "math.sqrt function",
                               "math.tan function",
                               "math.tointeger function",
                               "math.type function",
                               "math.ult function",
                               "next function",
                               "pairs function",
                               "pcall function",
                               "print function",
                               "rawequal function",
                               "rawlen function",
                               "require function",
                               "select function",
                               "string table",
                               "string.byte function",
                               "string.char function",
                               "string.find function",
                               "string.format function",
                               "string.gmatch function",
                               "string.gsub function",
                               "string.len function",
                               "string.lower function",
                               "string.match function",
                               "string.rep function",
                               "string.reverse function",
                               "string.sub function",
                               "string.upper function",
                               "table table",
                               "table.concat function",
                               "table.insert function",
                               "table.move function",
                               "table.pack function",
                               "table.remove function",
                               "table.sort function",
                               "table.unpack function",
                               "tonumber function",
                               "tostring function",
                               "type function",
                               "utf8 table",
                               "utf8.char function",
                               "utf8.codepoint function",
                               "utf8.codes function",
                               "utf8.len function",
                               "utf8.offset function",
                               "xpcall function",
                           }));
  // Of the globals; no script can reach it.
  EXPECT_THAT(reach.metatables, ElementsAre(""));
}

TEST(Sandbox, methods_of_texts_are_the_same_functions) {
  EXPECT_EQ(Script().run("for name, f in pairs(string) do "
                         "if not rawequal(('')[name], f) then return name end "
                         "end return ('').io"),
            "nil");
}

TEST(Sandbox, what_is_printed_is_handed_on_by_line) {
  Script script;
  script.run("print('a', 1, nil, {}, print, 0.5) print() print(('x'):rep(5000))");
  ASSERT_THAT(script.printed, SizeIs(3));
  EXPECT_EQ(script.printed[0], "a\t1\tnil\ttable\tfunction\t0.5");
  EXPECT_EQ(script.printed[1], "");
  EXPECT_EQ(script.printed[2], std::string(1000, 'x') + "...");
}

TEST(Sandbox, a_missing_global_names_the_nearest) {
  EXPECT_THAT(Script().error("return treshold").problem, HasSubstr("no global treshold"));
  EXPECT_THAT(Script().error("threshold = 1 return treshold").problem, HasSubstr("threshold?"));
}

TEST(Sandbox, globals_can_be_closed) {
  Script script;
  script.run("known = 1");
  scripting_detail::Mistakes mistakes;
  scripting_detail::close_globals(script.state, mistakes);
  EXPECT_TRUE(mistakes.empty());
  EXPECT_EQ(script.run("known = 2 return known"), "2");
  EXPECT_THAT(script.error("other = 1").problem, HasSubstr("other is a new global"));
  EXPECT_THAT(script.error("table.insert(_G, 1)").problem, HasSubstr("1 is a new global"));
}

TEST(Sandbox, modules_are_loaded_once) {
  scripting_detail::SandboxOptions options;
  options.read_module = [](const std::string& name) {
    if (name != "helper") throw Error("there is no " + name);
    return std::string("return {count = 0}");
  };
  Script script({}, std::move(options));
  EXPECT_EQ(script.run("local h = require('helper') h.count = h.count + 1 "
                       "return require('helper').count"),
            "1");
  EXPECT_THAT(script.error("require('absent')").problem, HasSubstr("there is no absent"));
}

TEST(Sandbox, a_module_that_failed_may_be_asked_for_again) {
  scripting_detail::SandboxOptions options;
  options.read_module = [](const std::string&) { return std::string("error('broken')"); };
  Script script({}, std::move(options));
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(script.error("require('m')").what(), HasSubstr("m.lua:1: broken"));
}

TEST(Sandbox, random_numbers_follow_from_the_seed) {
  const auto numbers = [](std::uint64_t seed) {
    scripting_detail::SandboxOptions options;
    options.seed = seed;
    return Script({}, std::move(options))
        .run("return math.random() .. ' ' .. math.random(10) .. ' ' .. math.random(-5, 5)");
  };
  EXPECT_EQ(numbers(7), numbers(7));
  EXPECT_NE(numbers(0), numbers(1));
  EXPECT_EQ(Script().run("for i = 1, 1000 do local x = math.random(3) "
                         "if x < 1 or x > 3 then return x end end"),
            "nil");
}

TEST(Sandbox, pairs_goes_in_the_order_of_keys) {
  EXPECT_EQ(Script().run("local t = {b = 1, a = 2, [3] = 3, [-1] = 4, [0.5] = 5, aa = 6} "
                         "local s = '' for k, v in pairs(t) do s = s .. k .. '=' .. v .. ' ' end "
                         "return s"),
            "-1=4 0.5=5 3=3 a=2 aa=6 b=1 ");
  EXPECT_EQ(Script().run("local s = '' for k in next, {b = 1, a = 2} do s = s .. k end return s"),
            "ab");
}

TEST(Sandbox, what_is_removed_on_the_way_is_not_visited) {
  EXPECT_EQ(Script().run("local t, s = {a = 1, b = 2, c = 3}, '' "
                         "for k in pairs(t) do s = s .. k t.b = nil end return s"),
            "ac");
}

TEST(Sandbox, sort_is_stable_and_leaves_the_table_at_an_error) {
  EXPECT_EQ(Script().run("local t = {} for i = 1, 500 do t[i] = {i % 3, i} end "
                         "table.sort(t, function(a, b) return a[1] < b[1] end) "
                         "for i = 2, 500 do local a, b = t[i - 1], t[i] "
                         "if a[1] > b[1] or (a[1] == b[1] and a[2] > b[2]) then return i end end"),
            "nil");
  EXPECT_EQ(Script().run("local t = {3, 'x', 1} pcall(table.sort, t) "
                         "return table.concat(t, ' ')"),
            "3 x 1");
}

TEST(Sandbox, tables_are_changed_as_by_lua) {
  EXPECT_EQ(Script().run("local t = {1, 2, 3} table.insert(t, 2, 9) table.insert(t, 4) "
                         "local a = table.remove(t, 1) local b = table.remove(t) "
                         "return table.concat(t, ',') .. ' ' .. a .. b"),
            "9,2,3 14");
  EXPECT_EQ(Script().run("return table.concat(table.move({1, 2, 3, 4}, 1, 3, 2), ',')"), "1,1,2,3");
  EXPECT_EQ(Script().run("return table.concat(table.move({1, 2, 3, 4}, 2, 4, 1), ',')"), "2,3,4,4");
  EXPECT_EQ(Script().run("return table.concat({1, 2.5, 'x'}, '-', 2, 3)"), "2.5-x");
  EXPECT_EQ(Script().run("return select('#', table.unpack({1, nil, 3}, 1, 3))"), "3");
}

TEST(Sandbox, texts_are_repeated_as_by_lua) {
  EXPECT_EQ(Script().run(
                "return ('ab'):rep(3, '-') .. ('x'):rep(0) .. ('x'):rep(-1) .. ('y'):rep(1, 'z')"),
            "ab-ab-aby");
  // Beside and beyond the size of what is copied at once.
  EXPECT_EQ(Script().run("for _, n in ipairs({1, 1365, 1366, 1367, 2731, 5000}) do "
                         "local s, t = ('ab'):rep(n, '-'), {} for i = 1, n do t[i] = 'ab' end "
                         "if s ~= table.concat(t, '-') then return n end end "
                         "local long = ('x'):rep(5000) "
                         "if long:rep(2, long) ~= long .. long .. long then return 'long' end"),
            "nil");
  EXPECT_EQ(Script().run("return #('x'):rep(1 << 20)"), "1048576");
  EXPECT_THAT(Script().error("return ('x'):rep((1 << 20) + 1)").problem, HasSubstr("1 MiB"));
}

TEST(Sandbox, no_text_shows_an_address) {
  for (const char* value : {"{}", "print", "coroutine.create(print)"}) {
    const std::string it = value;
    EXPECT_THAT(Script().run("return tostring(" + it + ") .. ('%s'):format(" + it + ")"),
                ::testing::Not(HasSubstr("0x")));
    EXPECT_THAT(Script().error("return _G[" + it + "]").problem, ::testing::Not(HasSubstr("0x")));
  }
  EXPECT_EQ(Script().run("return ('%s %5.1f %d%% %q'):format({}, 2.25, 7, 'x')"),
            "table   2.2 7% \"x\"");
}

TEST(Sandbox, coroutines_hand_values_over) {
  EXPECT_EQ(Script().run("local c = coroutine.create(function(a) local b = coroutine.yield(a + 1) "
                         "error('bad ' .. b, 0) end) "
                         "local _, x = coroutine.resume(c, 1) local s = coroutine.status(c) "
                         "local ok, y = coroutine.resume(c, 'b') "
                         "return x .. s .. tostring(ok) .. y .. coroutine.status(c)"),
            "2suspendedfalsebad bdead");
}

}  // namespace
}  // namespace cupel
