#include "training/table.h"

#include <algorithm>

namespace cupel::training {
namespace {

constexpr const char* kNothing = "-";

// "`Confusion` 1260, `Overfit` 7".
std::string fired_text(const std::vector<Opinion>& opinions, const std::string& but_for = {}) {
  std::string text;
  for (const Opinion& opinion : opinions) {
    if (!opinion.fired() || opinion.rule == but_for) continue;
    text +=
        (text.empty() ? "`" : ", `") + opinion.rule + "` " + std::to_string(*opinion.first_step);
  }
  return text.empty() ? kNothing : text;
}

const Opinion& opinion_of(const std::string& rule, const JudgedRun& run) {
  return *std::find_if(run.opinions.begin(), run.opinions.end(),
                       [&](const Opinion& opinion) { return opinion.rule == rule; });
}

struct Count {
  int runs = 0;
  int judged = 0;
  int fired = 0;

  void add(const Opinion& opinion) {
    ++runs;
    judged += opinion.had_something_to_judge ? 1 : 0;
    fired += opinion.fired() ? 1 : 0;
  }
  std::string text() const {
    return judged == 0 ? kNothing : std::to_string(fired) + " of " + std::to_string(runs);
  }
};

}  // namespace

Row healthy_heads() { return {"healthy run", "network", "seed", "fired, first at step"}; }

Row healthy_row(const JudgedRun& run) {
  return {"`" + run.recipe.name + "`", std::string(to_string(run.recipe.architecture)),
          std::to_string(run.recipe.seed), fired_text(run.opinions)};
}

Row sick_heads() {
  return {"sick run",         "network",   "seed",
          "what is wrong",    "meant for", "fired first at step",
          "others that fired"};
}

Row sick_row(const JudgedRun& run) {
  const Recipe& recipe = run.recipe;
  const Opinion& meant = opinion_of(recipe.meant_rule, run);
  return {"`" + recipe.name + "`",
          std::string(to_string(recipe.architecture)),
          std::to_string(recipe.seed),
          recipe.cause,
          "`" + recipe.meant_rule + "`",
          meant.fired() ? std::to_string(*meant.first_step) : "missed",
          fired_text(run.opinions, recipe.meant_rule)};
}

Row rule_heads() {
  Row heads = {"rule"};
  for (const Architecture architecture : all_architectures())
    heads.emplace_back(to_string(architecture));
  heads.insert(heads.end(), {"false alarms", "found of those meant for it", "fired at others"});
  return heads;
}

Row rule_row(const std::string& rule, const std::vector<JudgedRun>& healthy,
             const std::vector<JudgedRun>& sick) {
  Row row = {"`" + rule + "`"};
  Count all;
  for (const Architecture architecture : all_architectures()) {
    Count count;
    for (const JudgedRun& run : healthy)
      if (run.recipe.architecture == architecture) count.add(opinion_of(rule, run));
    row.push_back(count.text());
    all.fired += count.fired;
  }
  Count meant;
  Count others;
  for (const JudgedRun& run : sick)
    (run.recipe.meant_rule == rule ? meant : others).add(opinion_of(rule, run));
  row.insert(row.end(), {std::to_string(all.fired), meant.text(), others.text()});
  return row;
}

std::string to_markdown(const Row& row) {
  std::string text = "|";
  for (const std::string& cell : row) text += " " + cell + " |";
  return text;
}

}  // namespace cupel::training
