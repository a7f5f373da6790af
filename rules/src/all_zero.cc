// Too large a share of a tensor's elements is zero: 100 * zeros / elements >= threshold, a
// percentage. NaN is no zero, -0 is one.
//
// The index is read first. The counts are exact. abs_max, or min and max, of 0 prove that all
// elements are zero, any other extremes that not all are, and a range without 0 that none is. Sums
// are not used, because small elements vanish in them.

#include <cmath>
#include <optional>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "elements.h"
#include "plain_reductions.h"
#include "tensor_selection.h"

namespace cupel::rules_detail {
namespace {

// The share of a tensor that is zero, as far as it is known.
struct Zeros {
  double percent = 0;
  bool at_most = false;   // less than 100 percent: one element is none
  std::string_view read;  // what was read, and from where
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
  struct Options {
    std::vector<std::string> collections;
    PatternList patterns;
    double threshold = 0;
  };

  static RuleDefinition definition() {
    return define_rule<AllZero>(
        {.name = "AllZero",
         .summary = "too many elements of a tensor are zero",
         .description = R"(
The rule computes the share of a tensor's elements that are 0, in percent:

    100 * zeros / elements >= threshold

fires, at exactly the threshold too. -0 is zero; NaN, infinities and the smallest number are not.
collection_names or tensor_regex selects the tensors; one of them is required. The rule judges each
worker's copy and each step by itself, in every mode. Scalars and integers count; text and empty
tensors are skipped.

The rule first reads the counts that a hook saves beside reductions, which are exact. With the
default threshold of 100, abs_max, or min and max, are enough as well. With a smaller threshold they
are enough only where their range excludes 0; otherwise the rule reads the raw value. l1 and l2 are
not used, because small elements vanish in them.

Gradients and weights are worth watching; half of a healthy ReLU's outputs is zero. Any saved
reduction brings the counts, and then the rule reads the index only.
)",
         .example = "AllZero,collection_names=gradients,threshold=90"},
        {option(&Options::collections, collection_names()),
         option(&Options::patterns, tensor_regex()),
         option(
             &Options::threshold,
             {.name = "threshold",
              .default_text = "100",
              .range = {.least = 0, .most = 100, .open_below = true},
              .help = "fires when at least so many percent of a tensor are zero (> 0, <= 100)"})});
  }

  static void check(const Options& /*options*/, const ParameterValues& values,
                    ParameterMistakes& mistakes) {
    require_selection(values, mistakes);
  }

  static RuleNeeds needs(const Options& options) {
    TensorNeed need{.tensors = selected_tensors(options.collections, options.patterns, false),
                    .suffices = {TensorSource::counts()}};
    auto& extremes = options.threshold == 100 ? need.suffices : need.spares;
    extremes.push_back(TensorSource::of({kAbsMax}));
    extremes.push_back(TensorSource::of({kMin, kMax}));
    need.suffices.push_back(TensorSource::value());
    return {{std::move(need)}};
  }

  AllZero(Trial& base, const Options& options)
      : TensorRule(base, needs(options)), threshold_(options.threshold) {}

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
      return JudgementText{std::string(zeros->read), compared, "percent of zeros " + compared};
    });
  }

  std::optional<Zeros> from_index(TensorCopy& copy) const {
    if (const auto counts = copy.record().counts()) {
      copy.saw(*counts);
      return Zeros{percent_of(counts->zero, copy.record().elements()), false, "zeros (counts)"};
    }
    const auto zeros = from_extremes(copy);
    return zeros && zeros->at_most && threshold_ < 100 ? std::nullopt : zeros;
  }

  double threshold_;
};

}  // namespace

RuleDefinition all_zero() { return AllZero::definition(); }

}  // namespace cupel::rules_detail
