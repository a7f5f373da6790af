// `cupel rules FILE.lua`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cli/cli_fixture.h"

namespace cupel::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct LuaRulePage : CliTest {
  std::string rule(const std::string& keys) {
    std::ofstream(file("mine.lua"))
        << "return cupel.rule { name = 'Mine', " << keys << " invoke_at_step = function() end }";
    return file("mine.lua");
  }
};

TEST_F(LuaRulePage, other_runs_that_a_rule_requires_are_in_the_command_to_copy) {
  const Ran ran = run({"rules", rule("other_trials = 2,")});
  EXPECT_THAT(ran.out, HasSubstr("other_trials  list  required"));
  EXPECT_THAT(ran.out, HasSubstr("mine.lua,other_trials=RUN,RUN\n"));
  EXPECT_THAT(run({"rules", rule("")}).out, Not(HasSubstr("other_trials")));
}

TEST_F(LuaRulePage, a_rule_without_needs_reads_what_its_code_asks_for) {
  EXPECT_THAT(run({"rules", rule("")}).out, HasSubstr("reads  what its code asks for\n"));
  EXPECT_THAT(run({"rules", rule("needs = { collections = { 'losses' } },")}).out,
              HasSubstr("reads  the collection losses"));
}

}  // namespace
}  // namespace cupel::testing
