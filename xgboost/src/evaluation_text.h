#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupel::xgboost_detail {

struct Metric {
  std::string name;  // "train-rmse"
  double value = 0;
};

struct Evaluation {
  std::vector<Metric> metrics;
  std::string unreadable;  // the first part of the text that is no metric; empty if there is none
};

// Reads the text of XGBoosterEvalOneIter: "[12]\ttrain-rmse:0.5\tvalidation-rmse:nan". Names may
// hold tabs and colons; the value stands behind the last colon.
Evaluation read_evaluation(std::string_view text);

}  // namespace cupel::xgboost_detail
