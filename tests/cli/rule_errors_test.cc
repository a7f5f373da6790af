// Errors in rules: all of them at once, as messages and as JSON, before a run is opened.

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>

#include "cli/lua_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

constexpr const char* kFiveMistakes = R"(return cupel.rule {
  name = "Five",
  summry = "a word too many",
  params = {
    limit = { default = 1, at_last = 0 },
    size = { kind = "flot" },
  },
  needs = { collections = 5 },
  invoke_at_step = "no function",
}
)";

constexpr const char* kBadConfiguration = R"([
  {"RuleConfigurationName": "a",
   "RuleParameters": {"rule_to_invoke": "NoSuchRule"}},
  {"RuleConfigurationName": "b",
   "RuleParameters": {"rule_to_invoke": "VanishingGradient",
                      "treshold": "1",
                      "threshold": "x"}},
  {"RuleConfigurationName": "c",
   "RuleParameters": {"rule_to_invoke": "ExplodingTensor"},
   "RunnerParameters": {"start_step": "y"}},
  {"RuleConfigurationName": "a",
   "RuleParameters": {"rule_to_invoke": "ExplodingTensor"}}
]
)";

struct RuleErrors : LuaCommand {
  std::string absent() const { return file("no_such_run"); }
  // The messages of a command, each without "cupel COMMAND: ".
  static std::vector<std::string> messages(const Ran& ran, const std::string& command) {
    std::vector<std::string> lines;
    const std::string prefix = "cupel " + command + ": ";
    std::istringstream stream(ran.err);
    for (std::string line; std::getline(stream, line);) {
      EXPECT_THAT(line, StartsWith(prefix));
      lines.push_back(line.substr(prefix.size()));
    }
    return lines;
  }
  static std::multiset<std::int64_t> lines_of(const Json& errors) {
    std::multiset<std::int64_t> lines;
    for (const Json& error : errors)
      lines.insert(error["line"].is_null() ? 0 : error["line"].get<std::int64_t>());
    return lines;
  }
};

TEST_F(RuleErrors, of_a_lua_file_come_at_once_with_their_lines) {
  const std::string five = write("five.lua", kFiveMistakes);
  const Ran ran = run({"check", absent(), "--rule", five, "--json"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.err, "");
  const Json errors = ran.json();
  ASSERT_TRUE(errors.is_array());
  EXPECT_THAT(lines_of(errors), IsSupersetOf({3, 5, 6, 8, 9})) << ran.out;
  for (const Json& error : errors) {
    EXPECT_THAT(error["file"].get<std::string>(), HasSubstr("five.lua"));
    std::vector<std::string> keys;
    for (const auto& item : error.items()) keys.push_back(item.key());
    EXPECT_THAT(keys, ::testing::ElementsAre("file", "line", "message", "hint"));
  }
}

TEST_F(RuleErrors, are_the_same_in_every_command_and_form) {
  const std::string five = write("five.lua", kFiveMistakes);
  const std::string json = run({"check", absent(), "--rule", five, "--json"}).out;
  EXPECT_EQ(run({"watch", absent(), "--rule", five, "--json", "--no-wait"}).out, json);
  EXPECT_EQ(run({"rules", five, "--json"}).out, json);
  const std::size_t count = Json::parse(json).size();
  const std::vector<std::string> of_check =
      messages(run({"check", absent(), "--rule", five}), "check");
  EXPECT_EQ(of_check.size(), count);
  EXPECT_THAT(of_check, Each(AllOf(HasSubstr("five.lua:"), HasSubstr(", in \""))));
  EXPECT_EQ(messages(run({"watch", absent(), "--rule", five, "--no-wait"}), "watch"), of_check);
  EXPECT_EQ(messages(run({"rules", five}), "rules"), of_check);
}

TEST_F(RuleErrors, of_specs_configuration_and_files_come_together) {
  const std::string config = write("rules.json", kBadConfiguration);
  const std::string five = write("five.lua", kFiveMistakes);
  const Ran ran = run({"check", absent(), "--config", config, "--rule", five, "--rule",
                       "VanishingGradient,treshold=1", "--rule", "Nothing", "--json"});
  EXPECT_EQ(ran.code, kExitError);
  std::map<std::string, int> by_file;
  std::string last;
  for (const Json& error : ran.json()) {
    ++by_file[error["file"].is_null() ? "" : error["file"].get<std::string>()];
    if (error["hint"] == "did you mean threshold?") last = error["message"];
  }
  EXPECT_EQ(by_file[""], 2) << ran.out;
  EXPECT_GE(by_file[config], 5) << ran.out;
  EXPECT_EQ(by_file.size(), 3U) << ran.out;
  EXPECT_THAT(last, HasSubstr("treshold"));
}

TEST_F(RuleErrors, of_a_configuration_have_their_lines) {
  const Ran ran =
      run({"check", absent(), "--config", write("rules.json", kBadConfiguration), "--json"});
  EXPECT_THAT(lines_of(ran.json()), IsSupersetOf({3, 6, 7, 10})) << ran.out;
}

TEST_F(RuleErrors, of_a_file_that_is_not_there_name_it_once) {
  const std::string file = absent() + "/rule.lua";
  const Json errors = run({"check", absent(), "--rule", file, "--json"}).json();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0]["file"], file);
  EXPECT_EQ(errors[0]["message"], "there is no file " + file);
  EXPECT_EQ(run({"check", absent(), "--rule", file}).err,
            "cupel check: there is no file " + file + "\n");
}

TEST_F(RuleErrors, of_an_unknown_rule_are_json_too) {
  const Ran ran = run({"rules", "VanishingGradeint", "--json"});
  EXPECT_EQ(ran.code, kExitError);
  const Json errors = ran.json();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0]["file"], nullptr);
  EXPECT_EQ(errors[0]["line"], nullptr);
  EXPECT_EQ(errors[0]["hint"], "did you mean VanishingGradient?");
  const std::string spec = "VanishingGradeint";
  EXPECT_EQ(run({"check", absent(), "--rule", spec, "--json"}).out, ran.out);
}

TEST_F(RuleErrors, of_the_set_of_rules_as_the_name_of_a_page) {
  const Ran ran = run({"rules", "all"});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("unknown rule \"all\""));
}

TEST_F(RuleErrors, of_an_unknown_rule_in_a_file_name_the_rules_that_it_has) {
  const std::string rule = too_large() + ":Other";
  const Ran ran = run({"rules", rule});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_THAT(ran.err, HasSubstr("mine.lua has no rule Other; it has LossTooLarge"));
  EXPECT_EQ(messages(run({"check", absent(), "--rule", rule}), "check"), messages(ran, "rules"));
}

TEST_F(RuleErrors, show_no_control_characters_of_a_file) {
  const Ran ran = run({"rules", write("bad.lua", "\nreturn \x1b[2J(x)\n")});
  EXPECT_EQ(ran.code, kExitError);
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cupel::testing
