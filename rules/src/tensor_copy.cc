#include "cupel/rules/tensor_copy.h"

#include <utility>

#include "cupel/core/error.h"
#include "elements.h"

namespace cupel {

using namespace rules_detail;

void TensorCopy::skip(std::string reason, bool damaged) {
  verdict_.skip({record_.tensor(), std::string(record_.worker()), std::move(reason), damaged});
}

bool TensorCopy::has_numbers() {
  if (record_.dtype() == DType::Utf8) {
    skip("text is no numbers");
  } else if (record_.elements() == 0) {
    skip("the tensor is empty");
  } else {
    return true;
  }
  return false;
}

std::optional<double> TensorCopy::saved(Reduction reduction) {
  const std::optional<double> number = record_.reduction(reduction);
  if (number) saw(*number);
  return number;
}

void TensorCopy::saw(const ReductionValues& reductions) noexcept {
  reductions.set.for_each([&](Reduction reduction) { saw(*reductions.get(reduction)); });
}

// The counts spare looking at every element.
void TensorCopy::saw(const TensorValue& value) {
  if (const auto counts = record_.counts())
    saw(*counts);
  else if (holds_nan(value))
    verdict_.saw_nan();
}

std::optional<TensorNumber> TensorCopy::number(Reduction wanted) {
  const auto number = number_of(wanted);
  if (number) saw(number->value);
  return number;
}

std::optional<TensorNumber> TensorCopy::number_of(Reduction wanted) {
  if (const auto saved = saved_number(record_, wanted)) return saved;
  if (!record_.has_value()) {
    skip(none_was_saved(sources_of(wanted)));
    return std::nullopt;
  }
  return read_or_skip([&] {
    if (const auto computed = record_.computed(wanted))
      return TensorNumber{*computed, wanted, TensorNumber::Origin::Value};
    // The exception of this query has the reason why there is none.
    const Tensor tensor = rule_.base_trial().tensor(record_.tensor());
    const ReductionQuery query = {.worker = std::string(record_.worker())};
    return TensorNumber{tensor.reduction_value(record_.step(), to_string(wanted), query), wanted,
                        TensorNumber::Origin::Value};
  });
}

std::optional<TensorValue> TensorCopy::value() {
  auto value = read_or_skip([&] {
    auto read = record_.value();
    return read ? *std::move(read) : read_at(record_.step());  // whose exception has the reason
  });
  if (value) saw(*value);
  return value;
}

std::optional<TensorValue> TensorCopy::value_at(std::int64_t step) {
  return read_or_skip([&] { return read_at(step); });
}

TensorValue TensorCopy::read_at(std::int64_t step) const {
  return rule_.base_trial().tensor(record_.tensor()).value(step, Mode::Global, record_.worker());
}

void TensorCopy::report(bool fired, double value, double threshold, JudgementText text) {
  if (rule_.explaining())
    verdict_.observe({.tensor = record_.tensor(),
                      .worker = std::string(record_.worker()),
                      .read = std::move(text.read),
                      .compared = std::move(text.compared),
                      .fired = fired});
  if (fired)
    verdict_.add({.tensor = record_.tensor(),
                  .worker = std::string(record_.worker()),
                  .value = value,
                  .threshold = threshold,
                  .message = std::move(text.message)});
}

}  // namespace cupel
