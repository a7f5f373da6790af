#pragma once

#include "cupel/rules/rule_definition.h"

/// The built-in rules, each by the function that returns its definition. The function is in the
/// rule's source; these lists are the only other place where a rule is added.
#define CUPEL_FOR_EACH_BUILTIN_RULE(rule)                                          \
  rule(all_zero) rule(class_imbalance) rule(confusion) rule(exploding_tensor)      \
      rule(feature_importance_overweight) rule(loss_not_decreasing) rule(overfit)  \
          rule(overtraining) rule(similar_across_runs) rule(stalled_training_rule) \
              rule(tensor_variance) rule(tree_depth) rule(unchanged_tensor)        \
                  rule(vanishing_gradient) rule(weight_update_ratio)

/// Those that differ between the editions: the function takes the edition.
#define CUPEL_FOR_EACH_BUILTIN_RULE_OF_EDITIONS(rule)               \
  rule(check_input_images) rule(dead_relu) rule(nlp_sequence_ratio) \
      rule(poor_weight_initialization) rule(saturated_activation)

namespace cupel::rules_detail {

#define CUPEL_DECLARE_BUILTIN_RULE(rule) RuleDefinition rule();
CUPEL_FOR_EACH_BUILTIN_RULE(CUPEL_DECLARE_BUILTIN_RULE)
#undef CUPEL_DECLARE_BUILTIN_RULE

#define CUPEL_DECLARE_BUILTIN_RULE(rule) RuleDefinition rule(Definitions edition);
CUPEL_FOR_EACH_BUILTIN_RULE_OF_EDITIONS(CUPEL_DECLARE_BUILTIN_RULE)
#undef CUPEL_DECLARE_BUILTIN_RULE

}  // namespace cupel::rules_detail
