#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cupel/core/tensor_view.h"

namespace cupel::xgboost_detail {

// A parameter of the training as a tensor of one element.
struct Hyperparameter {
  std::string tensor;  // "hyperparameters/eta"
  std::variant<std::int64_t, double, std::string> value;
  TensorView view() const noexcept;  // of the value here
};

std::vector<Hyperparameter> read_hyperparameters(const std::map<std::string, std::string>& texts);

}  // namespace cupel::xgboost_detail
