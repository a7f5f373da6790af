// Gradients became so small that learning stops: mean(|gradient|) < threshold for any tensor of the
// collection gradients.
//
// abs_mean is taken from the index where it was saved, else from a saved sum of magnitudes, else
// computed from the raw value.

#include <array>
#include <limits>
#include <optional>

#include "builtin_table.h"
#include "cupel/core/error.h"
#include "cupel/rules/number_text.h"

namespace cupel {
namespace {

constexpr std::string_view kName = "VanishingGradient";
constexpr std::string_view kCollection = "gradients";
constexpr std::array kParameters = {
    ParameterInfo{"threshold", "float", "1e-7",
                  "fires when the mean magnitude of a gradient is below this (>= 0)"},
};

double read_threshold(const RuleParameters& parameters) {
  ParameterReader reader(kName, parameters, kParameters);
  const double threshold = reader.number("threshold", 0, std::numeric_limits<double>::max());
  reader.finish();
  return threshold;
}

struct MeanMagnitude {
  double value = 0;
  std::string_view origin;
};

std::optional<MeanMagnitude> from_index(const RecordView& record) {
  if (const auto mean = record.reduction({ReductionOp::Mean, true}))
    return MeanMagnitude{*mean, "abs_mean (saved)"};
  constexpr std::array kSumsOfMagnitudes = {Reduction{ReductionOp::L1, false},
                                            Reduction{ReductionOp::L1, true},
                                            Reduction{ReductionOp::Sum, true}};
  for (const Reduction sum : kSumsOfMagnitudes)
    if (const auto value = record.reduction(sum))
      return MeanMagnitude{*value / static_cast<double>(record.elements()),
                           "l1 / elements (saved)"};
  return std::nullopt;
}

class VanishingGradient final : public Rule {
 public:
  VanishingGradient(Trial& base, double threshold) : Rule(base), threshold_(threshold) {}

  std::string rule_name() const override { return std::string(kName); }
  std::string what_it_reads() const override {
    return "the collection gradients: abs_mean, else l1, else raw values";
  }

  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    const std::size_t selected = base_trial().visit_step(
        step, gradients_, [&](const RecordView& record) { judge(record, verdict); });
    if (selected == 0)
      verdict.not_applicable("no tensor of the collection gradients was saved at this step");
    return verdict;
  }

 private:
  void judge(const RecordView& record, Verdict& verdict) const {
    const auto skip = [&](std::string_view reason) {
      verdict.skip({record.tensor(), std::string(record.worker()), std::string(reason)});
    };
    if (record.dtype() == DType::Utf8) return skip("text has no magnitude");
    if (record.elements() == 0) return skip("the tensor is empty");
    std::optional<MeanMagnitude> mean = from_index(record);
    if (!mean && record.has_value()) {
      try {
        const ReductionQuery query = {.worker = std::string(record.worker()), .abs = true};
        const Tensor tensor = base_trial().tensor(record.tensor());
        mean = {tensor.reduction_value(record.step(), "mean", query), "abs_mean (from raw)"};
      } catch (const TensorUnavailableForStep& error) {
        return skip(error.what());
      }
    }
    if (!mean) return skip("neither abs_mean nor l1 nor the raw value was saved");

    verdict.count(1);
    const bool fired = mean->value < threshold_;
    if (fired)
      verdict.add({.tensor = record.tensor(),
                   .worker = std::string(record.worker()),
                   .value = mean->value,
                   .threshold = threshold_,
                   .message = "abs_mean " + comparison_text(mean->value, "<", threshold_)});
    if (explaining())
      verdict.observe({.tensor = record.tensor(),
                       .worker = std::string(record.worker()),
                       .read = std::string(mean->origin),
                       .compared = comparison_text(mean->value, "<", threshold_),
                       .fired = fired});
  }

  double threshold_;
  NameSelection gradients_{{std::string(kCollection)}};
};

}  // namespace

BuiltinRule vanishing_gradient() {
  return {
      .name = kName,
      .summary = "gradients became so small that learning stops",
      .reads = "every tensor of the collection gradients: abs_mean, else l1, else raw values",
      .parameters = kParameters,
      .make = [](Trial& base, const RuleParameters& parameters) -> std::unique_ptr<Rule> {
        return std::make_unique<VanishingGradient>(base, read_threshold(parameters));
      },
      .check = [](const RuleParameters& parameters) { read_threshold(parameters); },
  };
}

}  // namespace cupel
