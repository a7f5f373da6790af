// Rules in Lua under `cupel rules`.

#include <gmock/gmock.h>

#include "cli/lua_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

using LuaRulesCommand = LuaCommand;

TEST_F(LuaRulesCommand, rules_describes_a_rule_in_lua_as_a_built_in_one) {
  EXPECT_EQ(run({"rules", too_large()}).out,
            "LossTooLarge: a loss is too large\n"
            "\n"
            "reads  the collection losses: mean, else sum, else raw values\n"
            "\n"
            "PARAMETER  TYPE   DEFAULT\n"
            "threshold  float  10       fires above this\n"
            "\n"
            "cupel watch TRIAL --rule " +
                file("mine.lua") + ",threshold=10\n");
}

TEST_F(LuaRulesCommand, rules_describes_one_in_json) {
  const Ran ran = run({"rules", too_large() + ":LossTooLarge", "--json"});
  EXPECT_EQ(ran.code, kExitFine);
  EXPECT_EQ(ran.json()["name"], "LossTooLarge");
  EXPECT_EQ(
      ran.json()["parameters"].dump(),
      R"([{"name":"threshold","type":"float","default":"10","help":"fires above this","required":false}])");
}

TEST_F(LuaRulesCommand, rules_lists_what_a_file_has) {
  const std::string both =
      write("both.lua",
            "local function f() end return { cupel.rule { name = 'A', summary "
            "= 'one\\xff', invoke_at_step = f }, cupel.rule { name = 'B', "
            "needs = function() error('say what') end, invoke_at_step = f } }");
  EXPECT_THAT(run({"rules", both}).out, StartsWith("RULE  FIRES ON\nA     one"));
  const Json json = run({"rules", both, "--json"}).json();
  ASSERT_THAT(json, SizeIs(2));
  EXPECT_EQ(json[0]["reads"], "what its code asks for");
  EXPECT_EQ(json[1]["reads"], "what its parameters ask for: both.lua:1: say what");
  EXPECT_THAT(run({"rules", both + ":B"}).out,
              HasSubstr("cupel watch TRIAL --rule " + both + ":B\n"));
}

TEST_F(LuaRulesCommand, rules_reports_a_mistake_with_its_line) {
  const std::string bad = write("bad.lua", "\nreturn x");
  const Ran ran = run({"rules", bad});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, StartsWith("cupel rules: " + bad + ":2: there is no global x"));
}

TEST_F(LuaRulesCommand, a_new_rule_runs_and_is_fed_as_it_is) {
  const Ran printed = run({"rules", "--new", "loss_plateau"});
  EXPECT_EQ(printed.code, kExitFine);
  EXPECT_THAT(printed.out, HasSubstr("name = \"LossPlateau\""));
  const Ran written = run({"rules", "--new", file("loss_plateau.lua")});
  EXPECT_EQ(written.code, kExitFine);
  EXPECT_EQ(text_of("loss_plateau.lua"), printed.out);

  const std::string rule = file("loss_plateau.lua");
  writer_.collection("gradients", {"^g"})
      .save(0, {reduced("g", "abs_mean", 1)})
      .save(1, {reduced("g", "abs_mean", 20)})
      .finish();
  EXPECT_EQ(run({"check", path(), "--rule", rule}).out, "LossPlateau: what it needs is saved\n");
  const Ran ran = watch({"--rule", rule});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_THAT(ran.out,
              StartsWith("step 1 TRAIN  LossPlateau  begins in 1 tensor, g  abs_mean 20 > 10\n"));
}

TEST_F(LuaRulesCommand, a_new_rule_overwrites_nothing_and_has_a_name) {
  const std::string there = write("there.lua", "mine");
  const Ran ran = run({"rules", "--new", there});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("there.lua is there already"));
  EXPECT_EQ(text_of("there.lua"), "mine");
  for (const char* name : {"1a", "a b", "a-b", ".lua", "_"}) {
    const Ran bad = run({"rules", "--new", name});
    EXPECT_EQ(bad.code, kExitError) << name;
    EXPECT_THAT(bad.err, HasSubstr("a rule's name is letters, digits and '_'")) << name;
  }
  EXPECT_EQ(run({"rules", "--new", file("absent/rule.lua")}).code, kExitError);
}

TEST(NewRule, may_be_called_like_a_word_of_the_template) {
  for (const char* name : {"PROFILE", "FILENAME", "NAME"}) {
    const Ran ran = run({"rules", "--new", name});
    EXPECT_THAT(ran.out, HasSubstr("name = \"" + std::string(name) + "\",")) << name;
  }
  EXPECT_THAT(run({"rules", "--new", "NaNInGPU"}).out, HasSubstr("--rule na_n_in_gpu.lua"));
}

}  // namespace
}  // namespace cupel::testing
