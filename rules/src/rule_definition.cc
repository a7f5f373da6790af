#include "cupel/rules/rule_definition.h"

#include "cupel/core/error.h"
#include "rule_texts.h"

namespace cupel {

using namespace rules_detail;

namespace {

// Reads the parameters, and adds every mistake in them.
ParameterValues checked_values(const RuleDefinition& definition, const RuleParameters& given,
                               std::optional<std::size_t> others, ParameterMistakes& mistakes) {
  ParameterValues values = read_parameters(definition.parameters, given, mistakes);
  if (definition.check_values) definition.check_values(values, mistakes);
  mistakes.sort(definition.parameters);
  if (others && *others < definition.other_trials)
    mistakes.add_missing("it compares with " + std::to_string(definition.other_trials) +
                         " other run(s); name them by other_trials=PATH");
  return values;
}

ParameterValues legal_values(const RuleDefinition& definition, const RuleParameters& given,
                             std::optional<std::size_t> others = std::nullopt) {
  ParameterMistakes mistakes;
  ParameterValues values = checked_values(definition, given, others, mistakes);
  mistakes.throw_if_any(definition.name);
  return values;
}

}  // namespace

std::string_view to_string(Definitions edition) noexcept {
  return edition == Definitions::Practical ? "practical" : "reference";
}

ParameterMistakes RuleDefinition::mistakes_in(const RuleParameters& given,
                                              std::optional<std::size_t> others) const {
  ParameterMistakes mistakes;
  checked_values(*this, given, others, mistakes);
  return mistakes;
}

RuleNeeds RuleDefinition::needs(const RuleParameters& given) const {
  const ParameterValues values = legal_values(*this, given);
  return needs_of ? needs_of(values) : RuleNeeds();
}

std::string RuleDefinition::reads() const {
  if (!needs_of) return std::string(kReadsUnknown);
  ParameterMistakes missing;
  try {
    return describe(needs_of(checked_values(*this, {}, std::nullopt, missing)));
  } catch (const Error& error) {
    return "what its parameters ask for: " + std::string(error.what());
  }
}

std::unique_ptr<Rule> RuleDefinition::make(Trial& base, const RuleParameters& given,
                                           std::vector<std::unique_ptr<Trial>> others) const {
  const ParameterValues values = legal_values(*this, given, others.size());
  std::unique_ptr<Rule> rule = make_rule(base, values, std::move(others));
  rules_detail::RuleTexts::set_name(*rule, name);
  return rule;
}

}  // namespace cupel
