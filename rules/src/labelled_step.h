#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/natural_order.h"
#include "cupel/rules/tensor_copy.h"
#include "cupel/trial/tensor_value.h"

namespace cupel::rules_detail {

/// The raw labels and predictions of one step, worker by worker, in the order they came in.
class LabelledStep {
 public:
  struct Value {
    const std::string* tensor = nullptr;  ///< The trial's own.
    TensorValue value;
  };
  struct OfWorker {
    std::vector<Value> labels;
    std::vector<Value> predictions;
  };
  struct NaturalOrder {
    bool operator()(std::string_view a, std::string_view b) const noexcept {
      return natural_less(a, b);
    }
  };
  using Workers = std::map<std::string_view, OfWorker, NaturalOrder>;

  /// Reads a copy; where there is no value of numbers, the copy is skipped.
  void add_labels(TensorCopy& copy);
  void add_predictions(TensorCopy& copy);
  /// Orders the tensors of each worker by name, w_2 before w_10.
  void sort_naturally();
  const Workers& workers() const noexcept { return workers_; }

 private:
  Workers workers_;
};

/// A judgement that is about several tensors.
struct Judgement {
  std::string_view tensor;
  std::string_view worker;
  bool fired = false;
  double value = 0;
  double threshold = 0;
};

/// Counts a judgement, and reports it where it fired or the rule explains. `words()` returns a
/// JudgementText.
template <class F>
void report_judgement(const Rule& rule, Verdict& verdict, const Judgement& judgement, F&& words) {
  verdict.count(1);
  if (!judgement.fired && !rule.explaining()) return;
  JudgementText said = words();
  if (rule.explaining())
    verdict.observe({.tensor = std::string(judgement.tensor),
                     .worker = std::string(judgement.worker),
                     .read = std::move(said.read),
                     .compared = std::move(said.compared),
                     .fired = judgement.fired});
  if (judgement.fired)
    verdict.add({.tensor = std::string(judgement.tensor),
                 .worker = std::string(judgement.worker),
                 .value = judgement.value,
                 .threshold = judgement.threshold,
                 .message = std::move(said.message)});
}

}  // namespace cupel::rules_detail
