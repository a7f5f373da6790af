#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <utility>

#include "scripting/script_fixture.h"

namespace cupel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Script;
using ::testing::StartsWith;

constexpr ScriptLimits kSmall{.instructions = 100'000,
                              .memory = std::size_t{4} << 20U,
                              .time = std::chrono::milliseconds(5000)};
constexpr ScriptLimits kNarrow{.instructions = 100'000'000,
                               .memory = std::size_t{4} << 20U,
                               .time = std::chrono::milliseconds(60'000)};
constexpr ScriptLimits kShort{.instructions = 1'000'000'000'000,
                              .memory = std::size_t{4} << 20U,
                              .time = std::chrono::milliseconds(20)};

TEST(LuaState, an_error_tells_chunk_line_and_who_called) {
  const ScriptError error =
      Script().error("\nlocal function inner() error('no good') end\ninner()");
  EXPECT_EQ(error.chunk, "rule.lua");
  EXPECT_EQ(error.line, 2);
  EXPECT_EQ(error.problem, "no good");
  EXPECT_EQ(error.limit, ScriptLimit::None);
  EXPECT_THAT(error.traceback, AllOf(HasSubstr("rule.lua:2: in"), HasSubstr("'inner'"),
                                     HasSubstr("rule.lua:3: in")));
  EXPECT_STREQ(error.what(), "rule.lua:2: no good");
}

TEST(LuaState, what_cannot_be_read_tells_its_line) {
  const ScriptError error = Script().error("\nlocal = 3");
  EXPECT_EQ(error.line, 2);
  EXPECT_THAT(error.problem, HasSubstr("expected near"));
}

TEST(LuaState, an_error_may_be_any_value) {
  EXPECT_EQ(Script().error("error({})").problem, "the error is no text but a table");
  EXPECT_EQ(Script().error("error()").problem, "the error is no text but a nil");
  EXPECT_EQ(Script().error("error('x', 0)").problem, "x");
}

TEST(LuaState, a_limit_is_told_with_the_line_that_reached_it) {
  Script script(kSmall);
  const ScriptError error = script.error("\n\nwhile true do end");
  EXPECT_EQ(error.limit, ScriptLimit::Instructions);
  EXPECT_EQ(error.line, 3);
  EXPECT_EQ(error.problem, "the limit of 100000 instructions is reached");
}

TEST(LuaState, memory_is_told_with_its_line) {
  Script script(kNarrow);
  const ScriptError error = script.error("local t = {}\nfor i = 1, 1e6 do t[i] = i end");
  EXPECT_EQ(error.limit, ScriptLimit::Memory);
  EXPECT_EQ(error.line, 2);
  EXPECT_EQ(error.problem, "the limit of 4 MiB of memory is reached");
}

TEST(LuaState, a_text_beyond_1_MiB_is_told_as_such) {
  const ScriptError error = Script().error("local s = 'x' for i = 1, 30 do s = s .. s end");
  EXPECT_EQ(error.limit, ScriptLimit::Memory);
  EXPECT_EQ(error.problem, "a text of more than 1 MiB");
}

TEST(LuaState, the_clock_is_told) {
  Script script(kShort);
  EXPECT_EQ(script.error("while true do end").problem, "the limit of 20 ms is reached");
}

TEST(LuaState, instructions_of_coroutines_are_counted) {
  ScriptLimits limits = kSmall;
  limits.time = std::chrono::seconds(60);
  Script script(limits);
  // Each of them ends before a hook of its own is called.
  EXPECT_EQ(script
                .error("for i = 1, 1e9 do coroutine.wrap(function() "
                       "for j = 1, 20 do end end)() end")
                .limit,
            ScriptLimit::Instructions);
  EXPECT_EQ(
      script.run("local n = 0 for i = 1, 500 do coroutine.wrap(function() n = n + 1 end)() end"
                 " return n"),
      "500");
}

TEST(LuaState, each_call_has_its_limits_anew) {
  Script script(kSmall);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(script.error("while true do end").limit, ScriptLimit::Instructions);
    EXPECT_EQ(script.run("local n = 0 for i = 1, 20000 do n = n + i end return n"), "200010000");
  }
}

TEST(LuaState, a_limit_that_was_caught_is_reached_all_the_same) {
  Script script(kSmall);
  EXPECT_EQ(script.error("pcall(function() while true do end end) return 'went on'").limit,
            ScriptLimit::Instructions);
  EXPECT_EQ(script.error("return pcall(string.rep, 'x', 1e5, ('y'):rep(1e4))").limit,
            ScriptLimit::None);
}

TEST(LuaState, memory_that_can_still_be_reached_stays_in_use) {
  Script script(kSmall);
  script.run("kept = {} for i = 1, 10000 do kept[i] = i end");
  const std::size_t with = script.state.memory_in_use();
  script.run("kept = false");
  lua_gc(script.state.get(), LUA_GCCOLLECT);
  EXPECT_LT(script.state.memory_in_use() + 150'000, with);
}

TEST(LuaState, garbage_is_collected_before_memory_is_said_to_be_used_up) {
  Script script(kNarrow);
  EXPECT_EQ(script.run("for i = 1, 200 do local s = ('x'):rep(900000) end return 'well'"), "well");
  EXPECT_EQ(script.run("local s = ('x'):rep(900000) for i = 1, 50 do local u = s:upper() end "
                       "return 'well'"),
            "well");
}

TEST(LuaState, states_do_not_see_each_other) {
  Script one(kSmall);
  Script other(kSmall);
  one.run("shared = 1");
  EXPECT_EQ(one.error("while true do end").limit, ScriptLimit::Instructions);
  EXPECT_THAT(other.error("return shared").problem, HasSubstr("no global shared"));
  EXPECT_EQ(other.run("return 1 + 1"), "2");
}

TEST(LuaState, a_coroutine_outlives_the_call_that_made_it) {
  Script script(kSmall);
  script.run(
      "kept = coroutine.wrap(function() for i = 1, 1e9 do coroutine.yield(i) end end) kept()");
  EXPECT_EQ(script.error("while true do end").limit, ScriptLimit::Instructions);
  EXPECT_EQ(script.run("return kept()"), "2");
  EXPECT_EQ(script.error("while true do kept() end").limit, ScriptLimit::Instructions);
}

TEST(LuaState, a_coroutine_that_reached_a_limit_is_dead) {
  Script script(kSmall);
  EXPECT_EQ(script
                .error("local kept = {x = 1} "
                       "c = coroutine.create(function() f = function() return kept end "
                       "while true do kept = {x = 2} end end) coroutine.resume(c)")
                .limit,
            ScriptLimit::Instructions);
  EXPECT_EQ(script.run("return coroutine.status(c) .. ' ' .. select(2, coroutine.resume(c)) .. "
                       "' ' .. f().x"),
            "dead cannot resume dead coroutine 2");
}

TEST(LuaState, no_message_handler_hears_of_a_limit) {
  Script script(kSmall);
  EXPECT_EQ(script
                .error("heard = false xpcall(function() while true do end end, "
                       "function() heard = true end)")
                .limit,
            ScriptLimit::Instructions);
  EXPECT_EQ(script.run("return heard"), "false");
}

TEST(LuaState, yields_across_pcall) {
  EXPECT_EQ(Script().run("local c = coroutine.wrap(function() "
                         "local ok, what = pcall(function() coroutine.yield(1) error('e', 0) end) "
                         "return tostring(ok) .. what end) c() return c()"),
            "falsee");
}

TEST(LuaState, bytecode_is_not_loaded) {
  Script script;
  EXPECT_THROW(script.state.load("\x1bLua", "rule.lua"), ScriptError);
}

TEST(LuaState, a_script_beyond_1_MiB_is_not_loaded) {
  Script script;
  EXPECT_THROW(script.state.load(std::string(kSmall.memory, ' '), "rule.lua"), ScriptError);
}

TEST(LuaState, reading_a_script_takes_no_longer_than_a_call) {
  // Each branch looks for the end of the list of those before it.
  std::string text = "local a if a then ";
  while (text.size() < 1'000'000) text += "elseif a then ";
  Script script(kShort);
  try {
    script.state.load(text + "end", "rule.lua");
    ADD_FAILURE() << "it was read";
  } catch (const ScriptError& error) {
    EXPECT_EQ(error.limit, ScriptLimit::Clock) << error.what();
  }
  EXPECT_EQ(script.run("return 1"), "1");
}

TEST(LuaState, reading_a_script_is_limited_in_memory_and_depth) {
  Script script(kSmall);
  std::string constants = "return {";
  while (constants.size() < 90'000) constants += "'" + std::to_string(constants.size()) + "',";
  EXPECT_THROW(Script(ScriptLimits{.memory = 200'000}).run(constants + "}"), ScriptError);
  for (const std::string piece : {"(", "{", "function() ", "do ", "- ", "not ", "a.b["}) {
    std::string text = "return ";
    for (int i = 0; i < 10'000; ++i) text += piece;
    EXPECT_THROW(script.state.load(text, "rule.lua"), ScriptError) << piece;
  }
  EXPECT_EQ(script.run("return 1"), "1");
}

// A state with much that is alive, beside which `room` bytes are left.
class FullScript : public Script {
 public:
  explicit FullScript(std::size_t room)
      : Script({.instructions = 1'000'000'000'000,
                .memory = kBytes,
                .time = std::chrono::milliseconds(100)}) {
    run("kept = {}");
    for (int i = 0; i < 60; ++i) run("for i = 1, 10000 do kept = {kept} end");
    lua_gc(state.get(), LUA_GCCOLLECT);
    const std::size_t tables = (kBytes - state.memory_in_use() - room) / kTable;
    run("for i = 1, " + std::to_string(tables) + " do kept = {kept} end");
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 20U;
  static constexpr std::size_t kTable = 64 + 32;
};

double milliseconds_of_processor() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1000 + static_cast<double>(now.tv_nsec) / 1e6;
}

// With so little room that a call just has enough, Lua collects garbage again and again, and each
// time goes through all that is alive.
TEST(LuaState, the_clock_is_looked_at_before_garbage_is_collected) {
  ScriptLimit reached = ScriptLimit::Memory;
  double taken = 0;
  for (std::size_t room = 1000; reached == ScriptLimit::Memory; room += 100) {
    try {
      FullScript script(room);
      const double begin = milliseconds_of_processor();
      reached = script.error("while true do local t = {} end").limit;
      taken = milliseconds_of_processor() - begin;
    } catch (const ScriptError&) {  // it was not even to be filled so far
    }
  }
  EXPECT_EQ(reached, ScriptLimit::Clock);
  EXPECT_LT(taken, 150);
}

TEST(LuaState, no_message_handler_hears_of_a_limit_that_a_module_reached_while_it_was_read) {
  scripting_detail::SandboxOptions options;
  options.read_module = [](const std::string&) {
    return "return {" + std::string(900'000, '-') + "1}";
  };
  Script script({.instructions = 10'000}, std::move(options));
  EXPECT_EQ(script.error("heard = false xpcall(require, function() heard = true end, 'm')").limit,
            ScriptLimit::Instructions);
  EXPECT_EQ(script.run("return heard"), "false");
}

TEST(LuaState, what_the_C_library_takes_for_small_blocks_counts) {
  Script script;
  const std::size_t before = script.state.memory_in_use();
  script.run("kept = {} for i = 1, 10000 do kept[i] = {i} end");
  // A table and its one element, 56 and 16 bytes, are in blocks of 64 and 32; and their places.
  EXPECT_GE(script.state.memory_in_use() - before, 10'000 * (64 + 32 + 16));
}

TEST(LuaState, many_calls_leave_nothing_on_the_stack) {
  Script script(kSmall);
  for (int i = 0; i < 1000; ++i) {
    script.run("return 1");
    script.error("error('x')");
  }
  EXPECT_EQ(lua_gettop(script.state.get()), 0);
}

}  // namespace
}  // namespace cupel
