// Every training of healthy_recipes() and sick_recipes() is done and judged again, and what the
// rules say compared with docs/rules-on-real-training.md. What is promised of all of them together
// is judged by the document's tables, so that each training is done once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cupel/core/log.h"
#include "cupel/rules/rule_catalog.h"
#include "docs/markdown.h"
#include "training/table.h"
#include "training/train.h"

namespace cupel::training {

void PrintTo(const Recipe& recipe, std::ostream* out) { *out << recipe.name; }

namespace {

using ::testing::ElementsAreArray;

// The document's rows of a table, by their first cell.
std::vector<Row> documented(const Row& heads) {
  return cupel_docs::table_of(CUPEL_SOURCE_DIR "/docs/rules-on-real-training.md", heads.front());
}

Row documented_row(const Row& heads, const std::string& first_cell) {
  for (const Row& row : documented(heads))
    if (row.front() == first_cell) return row;
  return {};
}

std::vector<std::string> column(const Row& heads, const std::string& head) {
  const auto at = std::find(heads.begin(), heads.end(), head) - heads.begin();
  std::vector<std::string> cells;
  for (const Row& row : documented(heads)) cells.push_back(row.at(static_cast<std::size_t>(at)));
  return cells;
}

std::vector<std::string> quoted_names(const std::vector<Recipe>& recipes) {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes) names.push_back("`" + recipe.name + "`");
  return names;
}

class RealTraining : public ::testing::TestWithParam<Recipe> {
 protected:
  // Most rules find nothing to judge in some network, which they would say.
  static void SetUpTestSuite() {
    set_log_sink([](LogLevel, std::string_view) {});
  }
  static void TearDownTestSuite() { set_log_sink({}); }

  static JudgedRun trained_and_judged() { return {GetParam(), judge(train(GetParam()))}; }
};

class HealthyTraining : public RealTraining {};

TEST_P(HealthyTraining, is_judged_as_documented) {
  const JudgedRun run = trained_and_judged();
  const Row row = healthy_row(run);
  EXPECT_THAT(row, ElementsAreArray(documented_row(healthy_heads(), row.front())));

  // Which rules find anything to judge in the network.
  const Row heads = rule_heads();
  const auto network = std::find(heads.begin(), heads.end(), to_string(GetParam().architecture));
  for (const Opinion& opinion : run.opinions) {
    const Row of_rule = documented_row(heads, "`" + opinion.rule + "`");
    const auto cell = static_cast<std::size_t>(network - heads.begin());
    ASSERT_GT(of_rule.size(), cell) << opinion.rule;
    EXPECT_EQ(opinion.had_something_to_judge, of_rule[cell] != "-") << opinion.rule;
  }
}

class SickTraining : public RealTraining {};

TEST_P(SickTraining, is_judged_as_documented) {
  const Row row = sick_row(trained_and_judged());
  EXPECT_THAT(row, ElementsAreArray(documented_row(sick_heads(), row.front())));
}

std::string name_of(const ::testing::TestParamInfo<Recipe>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(, HealthyTraining, ::testing::ValuesIn(healthy_recipes()), name_of);
INSTANTIATE_TEST_SUITE_P(, SickTraining, ::testing::ValuesIn(sick_recipes()), name_of);

TEST(TrainingDocument, has_every_run) {
  EXPECT_THAT(column(healthy_heads(), "healthy run"),
              ElementsAreArray(quoted_names(healthy_recipes())));
  EXPECT_THAT(column(sick_heads(), "sick run"), ElementsAreArray(quoted_names(sick_recipes())));
  EXPECT_EQ(healthy_recipes().size(), 30U);
  EXPECT_EQ(sick_recipes().size(), 30U);
}

TEST(TrainingDocument, has_a_sick_run_for_every_rule) {
  const std::vector<std::string> meant = column(sick_heads(), "meant for");
  for (const std::string& rule : judging_rules())
    EXPECT_THAT(meant, ::testing::Contains("`" + rule + "`"));
}

TEST(TrainingDocument, no_rule_has_more_than_one_false_alarm) {
  std::map<std::string, int> alarms;
  for (const std::string& fired : column(healthy_heads(), "fired, first at step"))
    for (const std::string& rule : cupel_docs::quoted_in(fired)) ++alarms[rule];
  for (const auto& [rule, count] : alarms) EXPECT_LE(count, 1) << rule;
}

TEST(TrainingDocument, the_meant_rule_finds_28_of_the_30_mistakes) {
  const std::vector<std::string> found = column(sick_heads(), "fired first at step");
  EXPECT_LE(std::count(found.begin(), found.end(), "missed"), 2);
}

// The runs as the document has them, so that the counts of its table of rules can be checked.
std::vector<JudgedRun> as_documented(const std::vector<Recipe>& recipes, const Row& heads,
                                     const std::vector<std::string>& fired_columns) {
  std::vector<JudgedRun> runs;
  for (const Recipe& recipe : recipes) runs.push_back({recipe, {}});
  for (const std::string& rule : judging_rules())
    for (JudgedRun& run : runs) run.opinions.push_back({rule, true, {}});
  for (const std::string& head : fired_columns) {
    const std::vector<std::string> cells = column(heads, head);
    for (std::size_t i = 0; i < runs.size() && i < cells.size(); ++i)
      for (const std::string& rule : cupel_docs::quoted_in(cells[i]))
        for (Opinion& opinion : runs[i].opinions)
          if (opinion.rule == rule) opinion.first_step = 0;
  }
  return runs;
}

TEST(TrainingDocument, counts_of_each_rule_what_its_tables_of_runs_say) {
  const std::vector<JudgedRun> healthy =
      as_documented(healthy_recipes(), healthy_heads(), {"fired, first at step"});
  std::vector<JudgedRun> sick =
      as_documented(sick_recipes(), sick_heads(), {"meant for", "others that fired"});
  const std::vector<std::string> found = column(sick_heads(), "fired first at step");
  for (std::size_t i = 0; i < sick.size() && i < found.size(); ++i)
    for (Opinion& opinion : sick[i].opinions)
      if (opinion.rule == sick[i].recipe.meant_rule && found[i] == "missed")
        opinion.first_step.reset();

  for (const std::string& rule : judging_rules()) {
    Row counted = rule_row(rule, healthy, sick);
    const Row row = documented_row(rule_heads(), counted.front());
    // Where the rule has nothing to judge it did not fire; the trainings tell where that is.
    for (std::size_t i = 0; i < counted.size() && i < row.size(); ++i)
      if (row[i] == "-" && counted[i].starts_with("0 of")) counted[i] = "-";
    EXPECT_THAT(row, ElementsAreArray(counted));
  }
}

}  // namespace
}  // namespace cupel::training
