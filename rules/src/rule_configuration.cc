#include "cupel/rules/rule_configuration.h"

#include <utility>

#include "cupel/core/error.h"
#include "cupel/trial/trial.h"

namespace cupel {
namespace {

const RuleDefinition& defined(const RuleConfiguration& configuration) {
  if (configuration.definition == nullptr)
    throw UsageError("a configuration of a rule has a definition");
  return *configuration.definition;
}

}  // namespace

RuleNeeds RuleConfiguration::needs() const { return defined(*this).needs(parameters); }

std::unique_ptr<Rule> RuleConfiguration::make(Trial& base) const {
  TrialOptions options;
  options.schemes = base.schemes();
  std::vector<std::unique_ptr<Trial>> others;
  others.reserve(other_trials.size());
  for (const std::string& other : other_trials) others.push_back(create_trial(other, options));
  return defined(*this).make(base, parameters, std::move(others));
}

// Runners of earlier versions have kept this text in their states.
std::string RuleConfiguration::fingerprint() const {
  std::string text;
  for (const auto& [key, value] : parameters) text.append(key).append("=").append(value) += '\n';
  if (definition != nullptr && !definition->fingerprint.empty())
    text += "text " + definition->fingerprint + "\n";
  for (const std::string& other : other_trials) text += "other " + other + "\n";
  return text;
}

}  // namespace cupel
