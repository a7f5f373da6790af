// Rules in Lua under `cupel watch`.

#include <gmock/gmock.h>

#include "cli/lua_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

using LuaWatchCommand = LuaCommand;

TEST_F(LuaWatchCommand, watch_runs_the_rule_of_a_file) {
  save({1, 12});
  writer_.finish();
  const Ran ran = watch({"--rule", too_large()});
  EXPECT_EQ(ran.code, kExitFound);
  EXPECT_EQ(ran.out,
            "step 1 TRAIN  LossTooLarge  begins in 1 tensor, loss  12 > 10\n"
            "\n"
            "RULE          STATUS       FIRST STEP  STEPS FIRED  EVALUATED  SKIPPED\n"
            "LossTooLarge  IssuesFound           1            1          2        0\n");
}

TEST_F(LuaWatchCommand, watch_ends_with_0_where_nothing_is_found) {
  save({1, 2});
  writer_.finish();
  EXPECT_EQ(watch({"--rule", too_large()}).code, kExitFine);
}

TEST_F(LuaWatchCommand, watch_takes_a_rule_by_name_with_parameters_beside_built_in_ones) {
  save({1, 12});
  writer_.finish();
  const std::string rule = too_large();
  const Ran ran = watch({"--json", "--rule", rule + ":loss_too_large,threshold=0.5", "--rule",
                         "ExplodingTensor", "--rule", rule});
  EXPECT_EQ(ran.code, kExitFound);
  const auto lines = ran.json_lines();
  ASSERT_THAT(lines, SizeIs(6));
  EXPECT_EQ(lines[0]["step"], 0);
  EXPECT_EQ(lines[0]["name"], "LossTooLarge");
  EXPECT_EQ(lines[2]["name"], "LossTooLarge#2");
  EXPECT_EQ(lines[2]["rule"], "LossTooLarge");
  EXPECT_EQ(lines[4]["name"], "ExplodingTensor");
  EXPECT_EQ(lines[4]["status"], "NoIssuesFound");
}

TEST_F(LuaWatchCommand, watch_prints_the_lines_of_any_rule) {
  save({12});
  writer_.finish();
  const auto lines = watch({"--json", "--rule", too_large()}).json_lines();
  ASSERT_THAT(lines, SizeIs(2));
  std::vector<std::string> keys;
  for (const auto& [key, value] : lines[0].items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("time", "trial", "rule", "name", "step", "mode", "mode_step",
                                "status", "tensors", "message", "incident"));
  EXPECT_EQ(lines[0]["tensors"].dump(),
            R"([{"name":"loss","worker":"worker_0","value":12.0,"threshold":10.0}])");
  EXPECT_EQ(lines[0]["message"], "loss: 12 > 10");
  EXPECT_EQ(lines[1]["final"], true);
  EXPECT_EQ(lines[1]["first_step"], 0);
  EXPECT_EQ(lines[1]["steps_evaluated"], 1);
}

TEST_F(LuaWatchCommand, watch_explains_what_the_rule_read) {
  save({1});
  writer_.finish();
  EXPECT_THAT(watch({"--explain", "--rule", too_large()}).out,
              StartsWith("step 0 TRAIN  LossTooLarge  loss  read mean (from raw): 1, fine\n"));
}

TEST_F(LuaWatchCommand, a_rule_that_fails_is_an_error_and_others_go_on) {
  save({12, 12});
  writer_.finish();
  const std::string bad =
      write("bad.lua",
            "return cupel.rule {\n  name = 'Bad',\n"
            "  invoke_at_step = function(self, trial)\n    trial:tensors()\n  end }");
  const Ran ran = watch({"--json", "--rule", bad, "--rule", too_large()});
  EXPECT_EQ(ran.code, kExitError);
  const auto lines = ran.json_lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[2]["name"], "Bad");
  EXPECT_EQ(lines[2]["status"], "Error");
  EXPECT_EQ(lines[2]["message"],
            "ScriptError: bad.lua:4: a trial has no tensors; did you mean tensor?, in "
            "\"trial:tensors()\", at step 0");
  EXPECT_EQ(lines[3]["status"], "IssuesFound");
}

TEST_F(LuaWatchCommand, mistakes_in_all_files_are_reported_at_once_before_there_is_a_run) {
  const std::string first = write("first.lua", "local x = 1\nreturn cupel.rule { nam = 'x' }");
  const std::string second = write("second.lua", "return cupel.rule {\n name = 'S', y = = 1 }");
  const Ran ran = run({"watch", file("no_such_run"), "--rule", first, "--rule", second, "--rule",
                       too_large() + ",treshold=1", "--rule", file("absent.lua"), "--rule",
                       "VanishingGradint"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(
      ran.err,
      "cupel watch: " + first +
          ":2: rule does not know nam, in \"return cupel.rule { nam = 'x' }\"; did you mean name?\n"
          "cupel watch: " +
          first +
          ":2: rule: invoke_at_step is not given: function(self, trial, "
          "step) ... end, in \"return cupel.rule { nam = 'x' }\"\n"
          "cupel watch: " +
          second +
          ":2: unexpected symbol near '=', in \"name = 'S', y = = 1 }\"\n"
          "cupel watch: LossTooLarge: unknown parameter \"treshold\"; did you mean threshold?\n"
          "cupel watch: there is no file " +
          file("absent.lua") +
          "\n"
          "cupel watch: unknown rule \"VanishingGradint\"; did you mean VanishingGradient?\n");
}

TEST_F(LuaWatchCommand, a_rule_that_the_file_does_not_have_is_told_with_those_that_it_has) {
  const Ran ran = watch({"--rule", too_large() + ":Other"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("mine.lua has no rule Other; it has LossTooLarge"));
}

TEST_F(LuaWatchCommand, a_rule_compares_with_the_other_trials_that_it_is_given) {
  save({3});
  writer_.finish();
  LocalStore other(file("other"));
  WorkerWriter(other).save(0, {scalar("loss", 5)}).finish();
  const std::string rule =
      write("compare.lua",
            "return cupel.rule { name = 'Compare', other_trials = 1,\n"
            "invoke_at_step = function(self, trial, step)\n"
            "local function loss(of) return of:tensor('loss'):reduction_value(step, 'mean') end\n"
            "local difference = loss(self.other_trials[1]) - loss(trial)\n"
            "self:issue { tensor = 'loss', value = difference }\nend }");
  const auto lines =
      watch({"--json", "--rule", rule + ",other_trials=" + file("other")}).json_lines();
  EXPECT_EQ(lines.at(0)["tensors"][0]["value"], 2.0);
  const Ran without = run({"watch", file("no_such_run"), "--rule", rule});
  EXPECT_EQ(without.code, kExitError);
  EXPECT_THAT(without.err, HasSubstr("rule Compare: it compares with 1 other run(s); name them by "
                                     "other_trials=PATH"));
}

TEST_F(LuaWatchCommand, script_limits_hold_and_can_be_set) {
  save({1});
  writer_.finish();
  const std::string rule = write("busy.lua",
                                 "return cupel.rule { name = 'Busy',\n"
                                 "invoke_at_step = function() for i = 1, 100000 do end end }");
  EXPECT_EQ(watch({"--rule", rule}).code, kExitFine);
  const Ran ran = watch({"--json", "--rule", rule, "--script-limits", "instructions=2000"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.json_lines().at(0)["message"].get<std::string>(),
              HasSubstr("busy.lua:2: the limit of 2000 instructions is reached"));
  EXPECT_THAT(watch({"--rule", rule, "--script-limits", "time"}).err,
              HasSubstr("--script-limits is memory=MIB"));
  const Ran wrong = watch({"--rule", rule, "--script-limits", "memory=x,tme=5"});
  EXPECT_EQ(wrong.code, kExitError);
  EXPECT_THAT(wrong.err, HasSubstr("--script-limits: parameter memory is \"x\""));
  EXPECT_THAT(wrong.err, HasSubstr("unknown parameter \"tme\"; did you mean time?"));
}

TEST_F(LuaWatchCommand, a_configuration_file_names_a_rule_by_its_source) {
  save({3});
  writer_.finish();
  const std::string config = write(
      "config.json",
      R"([{"RuleConfigurationName": "mine", "RuleParameters": {"rule_to_invoke": "LossTooLarge",
           "source_s3_uri": ")" +
          too_large() + R"(", "threshold": "2"}},
          {"RuleConfigurationName": "yours", "RuleParameters": {"source_s3_uri": ")" +
          too_large() + R"("}}])");
  const auto lines = watch({"--json", "--config", config}).json_lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0]["rule"], "LossTooLarge");
  EXPECT_EQ(lines[0]["name"], "mine");
  EXPECT_EQ(lines[2]["name"], "yours");
  EXPECT_EQ(lines[2]["status"], "NoIssuesFound");
}

TEST_F(LuaWatchCommand, a_mistake_in_the_source_of_a_configuration_is_in_that_file) {
  const std::string bad = write("bad.lua", "return 5");
  const std::string config =
      write("config.json", R"([{"RuleConfigurationName": "mine", "RuleParameters": {)"
                           R"("source_s3_uri": ")" +
                               bad + R"("}}])");
  const Ran ran = watch({"--config", config});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("cupel watch: " + bad + ": the file returns a number"));
}

// ---- going on ----

TEST_F(LuaWatchCommand, a_rule_with_state_goes_on_as_if_nobody_had_stopped_it) {
  const std::string rule = write("sum.lua", kRunning);
  const auto timeless = [](std::vector<Json> lines) {
    std::vector<std::string> texts;
    for (Json& line : lines) {
      line.erase("time");
      texts.push_back(line.dump());
    }
    return texts;
  };
  save({1, 2});
  EXPECT_EQ(watch({"--no-wait", "--json", "--rule", rule, "--out", file("lines")}).code,
            kExitFound);
  save({3, 4});
  writer_.finish();
  const auto second =
      watch({"--json", "--rule", rule, "--out", file("lines"), "--no-wait"}).json_lines();
  const auto undisturbed = watch({"--no-wait", "--json", "--rule", rule}).json_lines();
  ASSERT_THAT(undisturbed, SizeIs(5));
  EXPECT_EQ(undisturbed[3]["tensors"][0]["value"], 10.0);
  EXPECT_EQ(timeless(second).back(), timeless(undisturbed).back());
}

TEST_F(LuaWatchCommand, a_file_that_was_changed_is_refused_where_lines_are_kept) {
  save({1});
  writer_.finish();
  const std::string rule = write("sum.lua", kRunning);
  watch({"--rule", rule, "--out", file("lines")});
  EXPECT_EQ(watch({"--rule", rule, "--out", file("lines")}).code, kExitFound);
  write("sum.lua", std::string(kRunning) + " -- changed");
  const Ran ran = watch({"--rule", rule, "--out", file("lines")});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("kept for other rules"));
  EXPECT_THAT(ran.err, HasSubstr("remove "));
}

TEST_F(LuaWatchCommand, watch_tells_of_a_misspelt_tensor_what_may_be_meant) {
  save({1, 2});
  writer_.finish();
  const std::string rule = write("misspelt.lua",
                                 "return cupel.rule { name = 'Misspelt', invoke_at_step = "
                                 "function(self, trial, step) trial:tensor('lsos') end }");
  EXPECT_THAT(watch({"--rule", rule}).out, HasSubstr("tensor lsos; did you mean loss?"));
}

}  // namespace
}  // namespace cupel::testing
