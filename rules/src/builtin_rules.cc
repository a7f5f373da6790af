#include "cupel/rules/builtin_rules.h"

#include <array>
#include <string>

#include "builtin_table.h"
#include "cupel/core/error.h"
#include "cupel/rules/nearest_names.h"

namespace cupel {
namespace {

// "VanishingGradient" as "vanishing_gradient".
std::string snake_case(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !text.empty()) text += '_';
    text += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

}  // namespace

std::span<const BuiltinRule> builtin_rules() {
  static const std::array rules = {
      all_zero(),
      class_imbalance(),
      confusion(),
      exploding_tensor(),
      loss_not_decreasing(),
      overfit(),
      overtraining(),
      poor_weight_initialization(),
      tensor_variance(),
      unchanged_tensor(),
      vanishing_gradient(),
      weight_update_ratio(),
  };
  return rules;
}

const BuiltinRule* find_builtin_rule(std::string_view name) {
  for (const BuiltinRule& rule : builtin_rules())
    if (rule.name == name || snake_case(rule.name) == name) return &rule;
  return nullptr;
}

const BuiltinRule& require_builtin_rule(std::string_view name) {
  if (const BuiltinRule* rule = find_builtin_rule(name)) return *rule;
  std::vector<std::string> names;
  for (const BuiltinRule& rule : builtin_rules()) names.emplace_back(rule.name);
  std::string message = "unknown rule \"" + std::string(name) + "\"";
  const std::string question = did_you_mean(name, names);
  if (!question.empty()) throw UsageError(message + question);
  message += "; the built-in rules are";
  for (std::size_t i = 0; i < names.size(); ++i) message += (i == 0 ? " " : ", ") + names[i];
  throw UsageError(message);
}

std::unique_ptr<Rule> make_builtin_rule(std::string_view name, Trial& base,
                                        const RuleParameters& parameters) {
  return require_builtin_rule(name).make(base, parameters);
}

}  // namespace cupel
