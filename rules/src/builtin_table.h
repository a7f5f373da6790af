#pragma once

#include "cupel/rules/rule_definition.h"

/// The built-in rules, each by the function that returns its definition. The function is in the
/// rule's source; this list is the only other place where a rule is added.
#define CUPEL_FOR_EACH_BUILTIN_RULE(rule)                                                       \
  rule(all_zero) rule(check_input_images) rule(class_imbalance) rule(confusion) rule(dead_relu) \
      rule(exploding_tensor) rule(feature_importance_overweight) rule(loss_not_decreasing)      \
          rule(nlp_sequence_ratio) rule(overfit) rule(overtraining)                             \
              rule(poor_weight_initialization) rule(saturated_activation)                       \
                  rule(similar_across_runs) rule(stalled_training_rule) rule(tensor_variance)   \
                      rule(tree_depth) rule(unchanged_tensor) rule(vanishing_gradient)          \
                          rule(weight_update_ratio)

namespace cupel::rules_detail {

#define CUPEL_DECLARE_BUILTIN_RULE(rule) RuleDefinition rule();
CUPEL_FOR_EACH_BUILTIN_RULE(CUPEL_DECLARE_BUILTIN_RULE)
#undef CUPEL_DECLARE_BUILTIN_RULE

}  // namespace cupel::rules_detail
