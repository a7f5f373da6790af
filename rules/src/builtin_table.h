#pragma once

#include <memory>
#include <string_view>

#include "cupel/rules/builtin_rules.h"

namespace cupel {

/// The entry of a rule's class R, which has
///   kName, kSummary, kParameters   what is printed of it;
///   kDescription, kExample         likewise; the description may begin and end with a line break;
///   Options                        its parameters, read;
///   read(ParameterReader&)         reads them;
///   needs(const Options&)          what a run must have saved, also of Options{};
///   R(Trial&, Options).
template <class R>
BuiltinRule builtin_rule();

constexpr std::string_view without_outer_breaks(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

template <class R>
typename R::Options read_options(const RuleParameters& parameters) {
  ParameterReader reader(R::kName, parameters, R::kParameters);
  typename R::Options options = R::read(reader);
  reader.finish();
  return options;
}

template <class R>
BuiltinRule builtin_rule() {
  return {
      .name = R::kName,
      .summary = R::kSummary,
      .description = without_outer_breaks(R::kDescription),
      .example = R::kExample,
      .reads = describe(R::needs(typename R::Options{})),
      .parameters = R::kParameters,
      .make = [](Trial& base, const RuleParameters& parameters) -> std::unique_ptr<Rule> {
        return std::make_unique<R>(base, read_options<R>(parameters));
      },
      .check = [](const RuleParameters& parameters) { read_options<R>(parameters); },
      .needs =
          [](const RuleParameters& parameters) { return R::needs(read_options<R>(parameters)); },
  };
}

// One function for each file that holds a rule; builtin_rules.cc lists them.
BuiltinRule all_zero();
BuiltinRule check_input_images();
BuiltinRule class_imbalance();
BuiltinRule confusion();
BuiltinRule dead_relu();
BuiltinRule exploding_tensor();
BuiltinRule feature_importance_overweight();
BuiltinRule loss_not_decreasing();
BuiltinRule nlp_sequence_ratio();
BuiltinRule overfit();
BuiltinRule overtraining();
BuiltinRule poor_weight_initialization();
BuiltinRule saturated_activation();
BuiltinRule similar_across_runs();
BuiltinRule stalled_training_rule();
BuiltinRule tensor_variance();
BuiltinRule tree_depth();
BuiltinRule unchanged_tensor();
BuiltinRule vanishing_gradient();
BuiltinRule weight_update_ratio();

}  // namespace cupel
