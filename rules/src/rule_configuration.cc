#include "cupel/rules/rule_configuration.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"

namespace cupel {
namespace {

constexpr std::string_view kOtherTrials = "other_trials";

const RuleDefinition& defined(const RuleConfiguration& configuration) {
  if (configuration.definition == nullptr)
    throw UsageError("a configuration of a rule has a definition");
  return *configuration.definition;
}

}  // namespace

bool RuleConfiguration::opens_other_trials() const {
  return std::ranges::find(defined(*this).parameters, kOtherTrials, &Parameter::name) !=
         definition->parameters.end();
}

RuleParameters RuleConfiguration::all_parameters() const {
  RuleParameters all = parameters;
  if (other_trials.empty() || !opens_other_trials()) return all;
  std::string& list = all[std::string(kOtherTrials)];
  list.clear();
  for (const std::string& path : other_trials) list += (list.empty() ? "" : ",") + path;
  return all;
}

RuleNeeds RuleConfiguration::needs() const { return defined(*this).needs(all_parameters()); }

std::unique_ptr<Rule> RuleConfiguration::make(Trial& base) const {
  TrialOptions options;
  options.schemes = base.schemes();
  std::vector<std::unique_ptr<Trial>> others;
  others.reserve(other_trials.size());
  if (!opens_other_trials())
    for (const std::string& other : other_trials) others.push_back(create_trial(other, options));
  return definition->make(base, all_parameters(), std::move(others));
}

// Runners of earlier versions have kept this text in their states.
std::string RuleConfiguration::fingerprint() const {
  std::string text;
  const bool are_parameter = definition != nullptr && opens_other_trials();
  for (const auto& [key, value] : are_parameter ? all_parameters() : parameters)
    text.append(key).append("=").append(value) += '\n';
  if (definition != nullptr && !definition->fingerprint.empty())
    text += "text " + definition->fingerprint + "\n";
  if (!are_parameter)
    for (const std::string& other : other_trials) text += "other " + other + "\n";
  return text;
}

}  // namespace cupel
