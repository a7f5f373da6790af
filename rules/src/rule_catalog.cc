// Keeps definitions in the order of their names, checks each that is added, and finds one by either
// form of its name. A definition with a mistake is refused by UsageError, and the catalog is then
// as before. Constant once a program has filled it, so that any thread may ask.

#include "cupel/rules/rule_catalog.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "rule_names.h"

namespace cupel {

using namespace rules_detail;

namespace {

// Whether some edition has both.
bool meet(std::optional<Definitions> a, std::optional<Definitions> b) {
  return !a || !b || *a == *b;
}

void refuse(const RuleDefinition& definition, const std::string& what) {
  throw UsageError("the definition of the rule \"" + definition.name + "\" " + what);
}

// A definition that is wrong in itself is an error of the program.
void check(const RuleDefinition& definition) {
  if (!is_identifier(definition.name))
    refuse(definition, "needs a name of letters, digits and '_', which begins with no digit");
  if (snake_case(definition.name) == kSetOfRules)
    refuse(definition, "has the name of the set of all rules");
  if (!definition.make_rule) refuse(definition, "has no make_rule");
  std::set<std::string_view> names;
  for (const Parameter& parameter : definition.parameters) {
    if (!is_identifier(parameter.name))
      refuse(definition, "has a parameter \"" + parameter.name + "\", which is no name");
    if (!names.insert(parameter.name).second)
      refuse(definition, "has two parameters " + parameter.name);
    if (parameter.required && parameter.default_text)
      refuse(definition, "requires " + parameter.name + ", which has a default");
    const bool has_legal_value = parameter.kind == ParameterKind::Int
                                     ? parameter.range.has_whole_number()
                                     : parameter.range.has_number();
    if (!has_legal_value)
      refuse(definition, "has a parameter " + parameter.name + ", of which no number is legal");
    if (!parameter.default_text) continue;
    ParameterMistakes mistakes;
    read_parameters({&parameter, 1}, {}, mistakes);
    if (!mistakes.empty())
      refuse(definition, "has an illegal default: " + mistakes.all().front().message);
  }
}

}  // namespace

void RuleCatalog::add(RuleDefinition definition) {
  add(std::make_shared<const RuleDefinition>(std::move(definition)));
}

void RuleCatalog::add(std::shared_ptr<const RuleDefinition> definition) {
  check(*definition);
  const std::string name = snake_case(definition->name);
  for (const auto& known : definitions_)
    if (snake_case(known->name) == name && meet(known->edition, definition->edition))
      refuse(*definition, "is in the catalog already");
  const auto place = std::ranges::upper_bound(
      definitions_, std::pair(definition->name, definition->edition), {},
      [](const auto& known) { return std::pair(known->name, known->edition); });
  definitions_.insert(place, std::move(definition));
}

std::shared_ptr<const RuleDefinition> RuleCatalog::find(std::string_view name,
                                                        Definitions edition) const {
  return rules_detail::find_by_name(definitions_, name, [edition](const RuleDefinition& known) {
    return meet(known.edition, edition);
  });
}

std::vector<std::shared_ptr<const RuleDefinition>> RuleCatalog::definitions(
    Definitions edition) const {
  std::vector<std::shared_ptr<const RuleDefinition>> of_edition;
  std::ranges::copy_if(definitions_, std::back_inserter(of_edition),
                       [edition](const auto& known) { return meet(known->edition, edition); });
  return of_edition;
}

const RuleDefinition& RuleCatalog::require(std::string_view name, Definitions edition) const {
  if (const auto found = find(name, edition)) return *found;
  const Mistake unknown = mistake_in(name, edition);
  throw UsageError(unknown.message + (unknown.hint.empty() ? "" : "; ") + unknown.hint);
}

Mistake RuleCatalog::mistake_in(std::string_view name, Definitions edition) const {
  std::vector<std::string> names;
  for (const auto& known : definitions_)
    if (meet(known->edition, edition)) names.push_back(known->name);
  Mistake mistake{.message = "unknown rule \"" + std::string(name) + "\""};
  constexpr std::string_view kSeparator = "; ";
  if (std::string hint = did_you_mean(name, names); !hint.empty()) {
    mistake.hint = hint.substr(kSeparator.size());
    return mistake;
  }
  mistake.message += names.empty() ? "; there are no rules" : "; the rules are";
  for (std::size_t i = 0; i < names.size(); ++i)
    mistake.message += (i == 0 ? " " : ", ") + names[i];
  return mistake;
}

}  // namespace cupel
