// The variance of a tensor leaves its bounds: above max_threshold, or below min_threshold.
//
// A saved variance, or the square of a saved std, spares reading the value. Each copy is judged by
// itself; a tensor without any of the three is skipped.

#include <optional>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "plain_reductions.h"
#include "tensor_selection.h"

namespace cupel::rules_detail {
namespace {

class TensorVariance final : public TensorRule {
 public:
  struct Options {
    std::vector<std::string> collections;
    PatternList patterns;
    std::optional<double> most;
    std::optional<double> least;
  };

  static RuleDefinition definition() {
    return define_rule<TensorVariance>(
        {.name = "TensorVariance",
         .summary = "the variance of a tensor is too large or too small",
         .description = R"(
The rule judges the variance of a tensor, the mean square distance from its mean (divided by n, not
n - 1):

    variance > max_threshold, or variance < min_threshold, fires

Both comparisons are strict. At least one of the thresholds is required, and collection_names or
tensor_regex, which select the tensors. The rule judges each worker's copy and each step by itself,
in every mode.

The rule reads a saved variance, else the square of a saved std; otherwise it reads the raw value,
every element once. A tensor of one element does not vary and is skipped. Text, empty tensors and
tensors that were saved with other reductions only are skipped, too. NaN never fires; an infinite
variance is above any threshold.

The reduction variance alone feeds the rule. A small variance of activations is the sign of a signal
that dies out from layer to layer, a large variance of weights the sign of training that diverges.
)",
         .example = "TensorVariance,collection_names=weights,max_threshold=10,min_threshold=1e-6"},
        {option(&Options::collections, collection_names()),
         option(&Options::patterns, tensor_regex()),
         option(&Options::most, {.name = "max_threshold",
                                 .range = {.least = 0},
                                 .help = "fires when a variance is above this (>= 0)"}),
         option(&Options::least, {.name = "min_threshold",
                                  .range = {.least = 0},
                                  .help = "fires when a variance is below this (>= 0)"})});
  }

  static void check(const Options& options, const ParameterValues& values,
                    ParameterMistakes& mistakes) {
    require_selection(values, mistakes);
    if (!values.is_given("max_threshold") && !values.is_given("min_threshold"))
      mistakes.add("neither max_threshold nor min_threshold is given; at least one is needed",
                   "max_threshold");
    if (options.most && options.least && *options.least >= *options.most)
      mistakes.add("min_threshold must be less than max_threshold: " +
                       comparison_text(*options.least, ">=", *options.most),
                   "min_threshold");
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = selected_tensors(options.collections, options.patterns, false),
              .suffices = sources_of(kVariance)}}};
  }

  TensorVariance(Trial& base, const Options& options)
      : TensorRule(base, needs(options)), most_(options.most), least_(options.least) {}

 private:
  void judge(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    if (copy.record().elements() == 1) return copy.skip("one element does not vary");
    const auto variance = copy.number(kVariance);
    if (!variance) return;
    const bool above = most_ && variance->value > *most_;
    const bool below = least_ && variance->value < *least_;
    const double bound = below || !most_ ? *least_ : *most_;
    copy.judged(above || below, variance->value, bound, [&] {
      std::string compared;
      if (most_ && !below) compared = comparison_text(variance->value, ">", *most_);
      if (least_ && !above)
        compared += (compared.empty() ? "" : ", ") + comparison_text(variance->value, "<", *least_);
      return JudgementText{std::string(variance->origin_text()), compared, "variance " + compared};
    });
  }

  std::optional<double> most_;
  std::optional<double> least_;
};

}  // namespace

RuleDefinition tensor_variance() { return TensorVariance::definition(); }

}  // namespace cupel::rules_detail
