// Too large a share of a tensor's elements is zero: 100 * zeros / elements >= threshold, a
// percentage. NaN is no zero, -0 is one.
//
// The index is asked first: the counts are exact; abs_max, or min and max, of 0 mean that all are
// zero, anything else there that not all are, and a range without 0 that none is. Sums are not
// asked, because small elements vanish in them.

#include <array>
#include <cmath>
#include <optional>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "elements.h"
#include "tensor_rule.h"
#include "tensor_selection.h"

namespace cupel {
namespace {

constexpr Reduction kMin{ReductionOp::Min, false}, kMax{ReductionOp::Max, false};
constexpr Reduction kAbsMin{ReductionOp::Min, true}, kAbsMax{ReductionOp::Max, true};

// How much of a tensor is zero, as far as it is known.
struct Zeros {
  double percent = 0;
  bool at_most = false;   // less than 100 percent: one element is none
  std::string_view read;  // and whence
};

double percent_of(std::int64_t zeros, std::int64_t elements) {
  return 100 * static_cast<double>(zeros) / static_cast<double>(elements);
}

std::optional<Zeros> from_extremes(TensorCopy& copy) {
  if (const auto abs_max = copy.saved(kAbsMax))
    if (*abs_max == 0) return Zeros{100, false, "abs_max (saved)"};
  if (const auto abs_min = copy.saved(kAbsMin))
    if (*abs_min > 0) return Zeros{0, false, "abs_min (saved)"};
  const auto min = copy.saved(kMin);
  const auto max = copy.saved(kMax);
  if (min && max && *min == 0 && *max == 0) return Zeros{100, false, "min, max (saved)"};
  if (min && *min > 0) return Zeros{0, false, "min (saved)"};
  if (max && *max < 0) return Zeros{0, false, "max (saved)"};
  if (copy.saved(kAbsMax)) return Zeros{100, true, "abs_max (saved)"};
  if (min && *min != 0) return Zeros{100, true, "min (saved)"};
  if (max && *max != 0) return Zeros{100, true, "max (saved)"};
  return std::nullopt;
}

Zeros from_value(const TensorValue& value) {
  std::int64_t zeros = 0;
  for_each_span(value, [&](std::span<const double> elements, std::size_t) {
    for (const double element : elements) zeros += element == 0 ? 1 : 0;
    return true;
  });
  return {percent_of(zeros, value.elements()), false, "zeros (from raw)"};
}

class AllZero final : public TensorRule {
 public:
  static constexpr std::string_view kName = "AllZero";
  static constexpr std::string_view kSummary = "too many elements of a tensor are zero";
  static constexpr std::string_view kDescription = R"(
The share of a tensor's elements that are 0, in percent:

    100 * zeros / elements >= threshold

fires, at exactly the threshold too. -0 is zero; NaN, infinities and the smallest number are not.
collection_names or tensor_regex has to say what to look at. Each worker's copy is judged by itself,
each step by itself, in every mode; scalars and integers count, text and empty tensors are skipped.

The counts that a hook keeps beside reductions are exact and come first. With the default of 100,
abs_max, or min and max, settle it as well; with a smaller threshold only a range without 0 does,
and the raw value is read otherwise. l1 and l2 are not asked: small elements vanish in them.

Gradients and weights are worth watching; outputs of ReLUs are half zero when all is well.
Reductions of any kind bring the counts, and then the rule needs the index alone.
)";
  static constexpr std::string_view kExample = "AllZero,collection_names=gradients,threshold=90";
  static constexpr std::array kParameters = {
      kCollectionNames, kTensorRegex,
      ParameterInfo{"threshold", "float", "100",
                    "fires when at least so many percent of a tensor are zero (> 0, <= 100)"}};
  struct Options {
    NeededTensors tensors = unread_selection(false);
    double threshold = 100;
  };

  static Options read(ParameterReader& reader) {
    constexpr NumberRange kPercent{.least = 0, .most = 100, .open_below = true};
    return {.tensors = read_required_selection(reader),
            .threshold = reader.number("threshold", kPercent)};
  }

  static RuleNeeds needs(const Options& options) {
    TensorNeed need{.tensors = options.tensors, .suffices = {TensorSource::counts()}};
    auto& extremes = options.threshold == 100 ? need.suffices : need.spares;
    extremes.push_back(TensorSource::of({kAbsMax}));
    extremes.push_back(TensorSource::of({kMin, kMax}));
    need.suffices.push_back(TensorSource::value());
    return {{std::move(need)}};
  }

  AllZero(Trial& base, const Options& options)
      : TensorRule(base, kName, needs(options)), threshold_(options.threshold) {}

 private:
  void judge(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    std::optional<Zeros> zeros = from_index(copy);
    if (!zeros && copy.record().has_value()) {
      const auto value = copy.value();
      if (!value) return;
      zeros = from_value(*value);
    }
    if (!zeros)
      return copy.skip(
          "what was saved leaves open how many elements are zero; the counts, or the raw value, "
          "would say");
    const bool fired = !zeros->at_most && zeros->percent >= threshold_;
    copy.judged(fired, zeros->percent, threshold_, [&] {
      const std::string compared = zeros->at_most
                                       ? "less than 100 >= " + short_text(threshold_)
                                       : comparison_text(zeros->percent, ">=", threshold_);
      return Words{std::string(zeros->read), compared, "percent of zeros " + compared};
    });
  }

  std::optional<Zeros> from_index(TensorCopy& copy) const {
    if (const auto counts = copy.record().counts()) {
      copy.met(*counts);
      return Zeros{percent_of(counts->zero, copy.record().elements()), false, "zeros (counts)"};
    }
    const auto zeros = from_extremes(copy);
    return zeros && zeros->at_most && threshold_ < 100 ? std::nullopt : zeros;
  }

  double threshold_;
};

}  // namespace

BuiltinRule all_zero() { return builtin_rule<AllZero>(); }

}  // namespace cupel
