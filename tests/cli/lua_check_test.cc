// Rules in Lua under `cupel check`.

#include <gmock/gmock.h>

#include "cli/lua_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::SizeIs;
using ::testing::StartsWith;

using LuaCheckCommand = LuaCommand;

TEST_F(LuaCheckCommand, check_proves_what_the_rule_needs_of_a_run) {
  save({1});
  writer_.finish();
  const Ran fed = run({"check", path(), "--rule", too_large()});
  EXPECT_EQ(fed.code, kExitFine);
  EXPECT_EQ(fed.out, "LossTooLarge: what it needs is saved\n");
  const std::string hungry = write(
      "hungry.lua",
      "return cupel.rule { name = 'Hungry', invoke_at_step = print, needs = { { collections = "
      "'gradients', reductions = 'abs_mean' }, { patterns = 'loss', raw = true } } }");
  const Ran ran = run({"check", path(), "--rule", hungry, "--json"});
  EXPECT_EQ(ran.code, kExitFound);
  ASSERT_THAT(ran.json(), SizeIs(1));
  EXPECT_EQ(ran.json()[0]["rule"], "Hungry");
  EXPECT_EQ(ran.json()[0]["tensors"], "the collection gradients");
}

TEST_F(LuaCheckCommand, check_names_each_gap_of_a_hook_and_what_closes_it) {
  const std::string hook =
      write("hook.json", R"({"CollectionConfigurations": [{"CollectionName": "weights"}]})");
  const std::string hungry =
      write("hungry.lua",
            "return cupel.rule { name = 'Hungry', invoke_at_step = print, needs = { collections = "
            "'gradients', reductions = 'abs_mean' } }");
  const Ran ran = run({"check", hook, "--rule", hungry});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_EQ(ran.out,
            "Hungry: the collection gradients is not saved\n"
            "  needs      abs_mean, else l1, else raw values of them\n"
            "  for        the collection gradients\n"
            "  closed by  {\"CollectionName\":\"gradients\",\"CollectionParameters\":"
            "{\"reductions\":\"abs_mean\"}}\n");
}

TEST_F(LuaCheckCommand, check_writes_the_configuration_that_feeds_it) {
  const Ran emitted = run({"check", "--emit-hook-config", "--rule", too_large()});
  EXPECT_EQ(emitted.code, kExitFine);
  const std::string hook = write("emitted.json", emitted.out);
  EXPECT_EQ(run({"check", hook, "--rule", too_large()}).code, kExitFine);
}

TEST_F(LuaCheckCommand, check_says_so_of_a_rule_that_does_not_say_what_it_needs) {
  save({1});
  writer_.finish();
  const Ran ran = run({"check", path(), "--rule", write("sum.lua", kRunning)});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.out, "RunningSum: it does not say what it needs\n");
}

TEST_F(LuaCheckCommand, check_refuses_a_mistake_before_it_looks_at_anything) {
  const std::string bad = write("bad.lua", "return {");
  const Ran ran = run({"check", file("no_such_run"), "--rule", bad});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, StartsWith("cupel check: " + bad + ":1: "));
}

}  // namespace
}  // namespace cupel::testing
