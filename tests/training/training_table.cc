// Trains and judges all runs, and prints the tables of docs/rules-on-real-training.md.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cupel/core/log.h"
#include "cupel/rules/rule_catalog.h"
#include "training/table.h"
#include "training/train.h"

namespace {

using namespace cupel::training;

std::vector<JudgedRun> judged(const std::vector<Recipe>& recipes) {
  std::vector<JudgedRun> runs;
  for (const Recipe& recipe : recipes) {
    std::fprintf(stderr, "%s\n", recipe.name.c_str());
    runs.push_back({recipe, judge(train(recipe))});
  }
  return runs;
}

void print(const Row& heads, const std::vector<Row>& rows) {
  std::printf("%s\n%s\n", to_markdown(heads).c_str(),
              to_markdown(Row(heads.size(), "---")).c_str());
  for (const Row& row : rows) std::printf("%s\n", to_markdown(row).c_str());
  std::printf("\n");
}

}  // namespace

int main() try {
  // Most rules find nothing to judge in some network, which they say.
  cupel::set_log_sink([](cupel::LogLevel, std::string_view) {});
  const std::vector<JudgedRun> healthy = judged(healthy_recipes());
  const std::vector<JudgedRun> sick = judged(sick_recipes());
  std::vector<Row> rows;
  for (const std::string& rule : cupel::training::judging_rules())
    rows.push_back(rule_row(rule, healthy, sick));
  print(rule_heads(), rows);
  rows.clear();
  for (const JudgedRun& run : healthy) rows.push_back(healthy_row(run));
  print(healthy_heads(), rows);
  rows.clear();
  for (const JudgedRun& run : sick) rows.push_back(sick_row(run));
  print(sick_heads(), rows);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
