#include "chosen_rules.h"

#include <map>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "rule_spec.h"

namespace cupel {
namespace {

ChosenRule chosen(RuleConfiguration configured, const std::string& file) {
  if (!configured.source.empty())
    throw UsageError("rules in Lua are not in this version; cupel rules lists those that are");
  const BuiltinRule& rule = require_builtin_rule(configured.rule);
  rule.check(configured.parameters);
  const std::string whose = file + ": " + configured.name + ": ";
  std::vector<std::string> warnings;
  ChosenRule choice{&rule,
                    std::move(configured.name),
                    std::move(configured.parameters),
                    std::move(configured.runner),
                    parse_action_json(configured.action_json, warnings),
                    std::move(configured.collections)};
  if (!choice.runner.workers.empty())
    warnings.emplace_back("RunnerParameters.workers is not heeded: rules look at all workers");
  for (const std::string& warning : warnings) log(LogLevel::Warning, whose + warning);
  return choice;
}

}  // namespace

std::vector<ChosenRule> choose_rules(const std::vector<std::string>& specs,
                                     const std::string& config) {
  std::vector<ChosenRule> rules;
  std::string mistakes;
  const auto collect = [&mistakes](const std::string& where, auto&& read) {
    try {
      read();
    } catch (const UsageError& error) {
      mistakes += (mistakes.empty() ? "" : "\n") + where + error.what();
    }
  };
  if (!config.empty())
    for (RuleConfiguration& configured : read_rule_configurations(config)) {
      const std::string where = config + ": " + configured.name + ": ";
      collect(where, [&] { rules.push_back(chosen(std::move(configured), config)); });
    }
  for (const std::string& text : specs)
    collect("", [&] {
      RuleSpec spec = parse_rule_spec(text);
      const BuiltinRule& rule = require_builtin_rule(spec.rule);
      give_other_trials(rule.name, take_other_trials(spec.parameters), spec.parameters);
      rule.check(spec.parameters);
      rules.push_back({&rule, std::string(rule.name), std::move(spec.parameters)});
    });
  if (!mistakes.empty()) throw UsageError(mistakes);
  if (rules.empty())
    throw UsageError("no rule given: add --rule NAME (cupel rules lists them) or --config FILE");
  std::map<std::string, int> times;
  for (ChosenRule& rule : rules)
    if (const int time = ++times[rule.name]; time > 1) rule.name += "#" + std::to_string(time);
  return rules;
}

}  // namespace cupel
