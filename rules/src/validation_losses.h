#pragma once

#include <cstdint>
#include <string_view>

#include "cupel/rules/parameters.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/trial/trial.h"

namespace cupel {

/// The parameter of rules that compare losses of training and validation.
inline constexpr ParameterInfo kLossRegex{
    "tensor_regex", "list", "",
    "patterns searched in the names of losses; default: the collection losses"};

/// The collection losses.
NeededTensors losses_collection();
/// What kLossRegex chooses.
NeededTensors read_losses(ParameterReader& reader);

/// Whether the run tells training from validation by its modes; else the names of losses do.
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

}  // namespace cupel
