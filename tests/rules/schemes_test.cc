// What a runner and its rules open beside the run, they open by the schemes of the trial.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rules/runner_results.h"
#include "store/directory_scheme.h"
#include "store/scratch_directory.h"
#include "writer/environment_guard.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class RulesOverSchemes : public ::testing::Test {
 protected:
  RulesOverSchemes() {
    environment_.set("XDG_STATE_HOME", scratch.path());
    for (const char* run : {"a", "b"}) {
      LocalStore store((scratch / run).string());
      WorkerWriter writer(store);
      writer.save({0}, {scalar("loss", 1)});
      writer.finish();
    }
  }
  std::string location(const std::string& name) const {
    return "dir://" + scratch.path() + "/" + name;
  }
  std::unique_ptr<Trial> open() const {
    return create_trial(location("a"), {.schemes = {directory_scheme()}});
  }

  const ScratchDirectory scratch;

 private:
  EnvironmentGuard environment_;
};

TEST_F(RulesOverSchemes, a_built_in_rule_opens_the_other_run) {
  const auto trial = open();
  RuleRunner runner(*trial);
  runner.add("SimilarAcrossRuns", {{"other_trials", location("b")}, {"tensor_regex", "loss"}});
  EXPECT_THAT(run_all(runner).lines, ElementsAre("end SimilarAcrossRuns NoIssuesFound"));
}

TEST_F(RulesOverSchemes, a_configuration_opens_other_runs) {
  const auto trial = open();
  RuleDefinition definition{.name = "Other", .other_trials = 1};
  std::string opened;
  definition.make_rule = [&](Trial& base, const ParameterValues&,
                             std::vector<std::unique_ptr<Trial>> others) {
    opened = others.at(0)->location();
    return always(base, "Other");
  };
  RuleRunner runner(*trial);
  runner.add(
      RuleConfiguration{.definition = std::make_shared<const RuleDefinition>(std::move(definition)),
                        .other_trials = {location("b")}});
  EXPECT_EQ(opened, location("b"));
}

TEST_F(RulesOverSchemes, a_request_to_stop_reaches_the_run) {
  const auto trial = open();
  RuleRunner runner(*trial, {.actions = {{.kind = Action::Kind::Stop}}});
  runner.add(always(*trial));
  run_all(runner);
  EXPECT_TRUE(std::filesystem::exists(scratch / "a/stop_training"));
}

TEST_F(RulesOverSchemes, lines_are_kept_where_they_lead) {
  const auto trial = open();
  RuleRunner runner(*trial, {.out = location("results/lines")});
  runner.add(always(*trial));
  run_all(runner);
  std::ifstream lines(scratch / "results/lines");
  std::string first;
  std::getline(lines, first);
  EXPECT_THAT(first, StartsWith("{\"time\":"));
}

}  // namespace
}  // namespace cupel::testing
