#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cupel/core/ascii.h"
#include "cupel/rules/rule_definition.h"

namespace cupel::rules_detail {

/// The name that stands for every rule of a catalog in a SPEC.
inline constexpr std::string_view kSetOfRules = "all";

/// Finds the definition of a name among those that `accepts`. An exact name wins over the other
/// form of a name, "vanishing_gradient" for "VanishingGradient". Null: there is none.
template <class Accepts>
std::shared_ptr<const RuleDefinition> find_by_name(
    const std::vector<std::shared_ptr<const RuleDefinition>>& definitions, std::string_view name,
    const Accepts& accepts) {
  for (const auto& definition : definitions)
    if (definition->name == name && accepts(*definition)) return definition;
  for (const auto& definition : definitions)
    if (snake_case(definition->name) == name && accepts(*definition)) return definition;
  return nullptr;
}

}  // namespace cupel::rules_detail
