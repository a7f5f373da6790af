#include "labelled_step.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cupel::rules_detail {
namespace {

std::optional<LabelledStep::Value> read(TensorCopy& copy) {
  if (!copy.has_numbers()) return std::nullopt;
  if (!copy.record().has_value()) {
    copy.skip("the raw value was not saved");
    return std::nullopt;
  }
  auto value = copy.value();
  if (!value) return std::nullopt;
  return LabelledStep::Value{&copy.record().tensor(), *std::move(value)};
}

}  // namespace

void LabelledStep::add_labels(TensorCopy& copy) {
  if (auto value = read(copy)) workers_[copy.record().worker()].labels.push_back(*std::move(value));
}

void LabelledStep::add_predictions(TensorCopy& copy) {
  if (auto value = read(copy))
    workers_[copy.record().worker()].predictions.push_back(*std::move(value));
}

void LabelledStep::sort_naturally() {
  const auto before = [](const Value& a, const Value& b) {
    return natural_less(*a.tensor, *b.tensor);
  };
  for (auto& [worker, of] : workers_) {
    std::sort(of.labels.begin(), of.labels.end(), before);
    std::sort(of.predictions.begin(), of.predictions.end(), before);
  }
}

}  // namespace cupel::rules_detail
