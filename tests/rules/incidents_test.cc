// Which findings make one incident. What is done about incidents is in runner_actions_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "rules/runner_results.h"
#include "store/scratch_directory.h"

namespace cupel::testing {
namespace {

using ::testing::ElementsAre;

// The nth letter is step n: of TRAIN in upper case, of EVAL in lower case. The rule fires at f.
struct SpelledRun : MemoryRun {
  explicit SpelledRun(std::string_view letters) { save(letters); }
  void save(std::string_view more) {
    for (const char letter : more) {
      const auto step = static_cast<std::int64_t>(text.size());
      const Mode mode = letter >= 'A' && letter <= 'Z' ? Mode::Train : Mode::Eval;
      writer.save({step, mode, step}, {scalar("loss", 1)});
      text += letter;
    }
  }
  std::unique_ptr<Rule> rule(Trial& trial) const {
    return written(trial, [this](Trial&, std::int64_t step) {
      const char letter = text[static_cast<std::size_t>(step)];
      return letter == 'f' || letter == 'F' ? fired() : Verdict();
    });
  }
  WorkerWriter writer = worker();
  std::string text;
};

Lines incidents_of(const SpelledRun& run, RunnerOptions options = {}) {
  Trial trial = run.open();
  options.wait = false;
  RuleRunner runner(trial, options);
  runner.add(run.rule(trial));
  Lines lines;
  runner.run(
      [&](const VerdictLine& line) {
        if (line.begins_incident)
          lines.push_back(std::to_string(line.incident) + " begins at " +
                          std::to_string(line.step.value_or(-1)) + " " +
                          std::string(to_string(line.mode)));
      },
      {},
      [&](const Incident& over) {
        lines.push_back(std::to_string(over.number) + " is over at " +
                        std::to_string(over.over_at.value_or(-1)) + " " +
                        std::string(to_string(over.mode)) + ": " + std::to_string(over.steps) +
                        " steps, " + std::to_string(over.first_step) + " to " +
                        std::to_string(over.last_step) + ", " + std::to_string(over.findings));
      });
  return lines;
}

TEST(Incidents, last_from_the_first_finding_to_the_first_step_without_one) {
  EXPECT_THAT(incidents_of(SpelledRun("SFFFSSF")),
              ElementsAre("1 begins at 1 TRAIN", "1 is over at 4 TRAIN: 3 steps, 1 to 3, 3",
                          "2 begins at 6 TRAIN"));
}

TEST(Incidents, of_one_mode_are_neither_begun_nor_ended_by_steps_of_another) {
  EXPECT_THAT(incidents_of(SpelledRun("FsFfFsSf")),
              ElementsAre("1 begins at 0 TRAIN", "2 begins at 3 EVAL",
                          "2 is over at 5 EVAL: 1 steps, 3 to 3, 1",
                          "1 is over at 6 TRAIN: 3 steps, 0 to 4, 3", "3 begins at 7 EVAL"));
}

TEST(Incidents, number_the_lines_of_their_findings_in_json_and_no_other_line) {
  const SpelledRun run("FSF");
  Trial trial = run.open();
  RuleRunner runner(trial, {.wait = false, .explain = true});
  runner.add(run.rule(trial));
  Lines numbers;
  for (const VerdictLine& line : run_all(runner).verdicts) {
    const auto json = nlohmann::json::parse(to_json(line));
    numbers.push_back(brief(line) + " " +
                      (json.contains("incident") ? json["incident"].dump() : "-"));
  }
  EXPECT_THAT(numbers,
              ElementsAre("0 Rule Explained -", "0 Rule IssuesFound 1", "1 Rule Explained -",
                          "2 Rule Explained -", "2 Rule IssuesFound 2", "end Rule IssuesFound -"));
}

TEST(Incidents, go_on_where_another_runner_goes_on) {
  SpelledRun run("FSF");
  const ScratchDirectory scratch;
  const RunnerOptions options{.out = (scratch / "lines").string()};
  EXPECT_THAT(incidents_of(run, options),
              ElementsAre("1 begins at 0 TRAIN", "1 is over at 1 TRAIN: 1 steps, 0 to 0, 1",
                          "2 begins at 2 TRAIN"));
  run.save("FSfF");
  EXPECT_THAT(incidents_of(run, options), ElementsAre("2 is over at 4 TRAIN: 2 steps, 2 to 3, 2",
                                                      "3 begins at 5 EVAL", "4 begins at 6 TRAIN"));
}

}  // namespace
}  // namespace cupel::testing
