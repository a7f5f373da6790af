#include "cupel/rules/builtin_rules.h"

#include <array>
#include <string>

#include "builtin_table.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"

namespace cupel {
namespace {

// "VanishingGradient" as "vanishing_gradient", "NLPSequenceRatio" as "nlp_sequence_ratio".
std::string snake_case(std::string_view name) {
  const auto upper = [&](std::size_t i) { return name[i] >= 'A' && name[i] <= 'Z'; };
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && upper(i) && (!upper(i - 1) || (i + 1 < name.size() && !upper(i + 1)))) text += '_';
    text += upper(i) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return text;
}

}  // namespace

std::span<const BuiltinRule> builtin_rules() {
  static const std::array rules = {
      all_zero(),
      check_input_images(),
      class_imbalance(),
      confusion(),
      dead_relu(),
      exploding_tensor(),
      feature_importance_overweight(),
      loss_not_decreasing(),
      nlp_sequence_ratio(),
      overfit(),
      overtraining(),
      poor_weight_initialization(),
      saturated_activation(),
      similar_across_runs(),
      stalled_training_rule(),
      tensor_variance(),
      tree_depth(),
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
