#pragma once

#include <cstdint>
#include <string_view>

#include "cupel/rules/rule_needs.h"
#include "cupel/rules/rule_parameter.h"
#include "cupel/trial/trial.h"

namespace cupel::rules_detail {

/// The parameter of rules that compare losses of training and validation.
Parameter loss_regex();
/// The losses that loss_regex() selects; the collection losses where it is not given.
NeededTensors losses_of(const PatternList& patterns);
/// The divisor of percentages: |value|, and not 0.
double percentage_base(double value) noexcept;

/// Whether modes distinguish training from validation in the run; else the names of losses do.
bool has_evaluation(const Trial& run);

/// What a loss is of in a run without EVAL steps, by its name, as XGBoost gives them: "train-rmse",
/// "validation-rmse".
struct LossName {
  enum class Kind : std::uint8_t { Training, Validation, Growing, Other };
  Kind kind = Kind::Other;
  std::string_view metric = {};  ///< "rmse"; part of the name.
};

/// Growing is a metric that training makes larger, such as auc.
LossName loss_name(std::string_view tensor) noexcept;

/// Why a loss is passed over in a run that has EVAL steps.
inline constexpr std::string_view kNotOfThisMode = "a step of neither TRAIN nor EVAL";

}  // namespace cupel::rules_detail
