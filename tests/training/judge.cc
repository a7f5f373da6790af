#include "training/judge.h"

#include <set>
#include <stdexcept>

#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_runner.h"

namespace cupel::training {

std::vector<std::string> judging_rules() {
  std::vector<std::string> names;
  for (const auto& rule : builtin_rules().definitions(Definitions::Practical))
    if (rule->name != "SimilarAcrossRuns" && rule->name != "StalledTrainingRule")
      names.emplace_back(rule->name);
  return names;
}

RuleParameters parameters_of(const std::string& rule) {
  if (rule == "AllZero") return {{"collection_names", "weights,gradients"}};
  if (rule == "UnchangedTensor") return {{"collection_names", "weights"}};
  // Activations that are all but the same for all examples carry nothing.
  if (rule == "TensorVariance")
    return {{"collection_names", "activations"}, {"min_threshold", "1e-6"}};
  return {};
}

std::vector<Opinion> judge(std::shared_ptr<const Store> run) {
  Trial trial(std::move(run));
  RuleRunner runner(trial, {.explain = true});
  for (const std::string& rule : judging_rules()) runner.add(rule, parameters_of(rule));
  std::set<std::string> judged;
  const RunSummary summary = runner.run([&](const VerdictLine& line) {
    if (!line.observations.empty()) judged.insert(line.rule);
  });
  std::vector<Opinion> opinions;
  for (const RuleSummary& rule : summary.rules) {
    if (rule.status == RuleStatus::Error) throw std::runtime_error(rule.rule + ": " + rule.message);
    opinions.push_back({rule.rule, judged.contains(rule.rule), rule.first_step});
  }
  return opinions;
}

}  // namespace cupel::training
