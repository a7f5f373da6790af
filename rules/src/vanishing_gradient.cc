// Gradients became so small that learning stops: mean(|gradient|) < threshold for any tensor of the
// collection gradients.

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "plain_reductions.h"

namespace cupel::rules_detail {
namespace {

class VanishingGradient final : public TensorRule {
 public:
  struct Options {
    double threshold = 0;
  };

  static RuleDefinition definition() {
    return define_rule<VanishingGradient>(
        {.name = "VanishingGradient",
         .summary = "gradients became so small that learning stops",
         .description = R"(
For every tensor of the collection gradients, separately for each worker,

    abs_mean = mean(|g|) < threshold

fires. A mean of exactly the threshold does not fire. The rule judges each step by itself, in every
mode; hooks save gradients in training only.

The rule reads the saved abs_mean, else l1 (or the sum of magnitudes) divided by the number of
elements; then it reads the index only. Without any of these it reads the raw value, every element
once. A tensor without any of these is skipped, and so are text and empty tensors. NaN never fires:
ExplodingTensor finds it.

The reduction abs_mean of the gradients, saved every 10 to 100 steps, is enough and costs little.
Gradients also become small when training has converged; where that is planned, a smaller threshold,
or an end step, prevents findings.
)",
         .example = "VanishingGradient,threshold=1e-6"},
        {option(&Options::threshold,
                {.name = "threshold",
                 .default_text = "1e-7",
                 .range = {.least = 0},
                 .help = "fires when the mean magnitude of a gradient is below this (>= 0)"})});
  }

  static RuleNeeds needs(const Options& /*options*/) {
    return {{{.tensors = {.collections = {"gradients"}}, .suffices = sources_of(kAbsMean)}}};
  }

  VanishingGradient(Trial& base, const Options& options)
      : TensorRule(base, needs(options)), threshold_(options.threshold) {}

 private:
  void judge(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const auto mean = copy.number(kAbsMean);
    if (!mean) return;
    copy.judged(mean->value < threshold_, mean->value, threshold_, [&] {
      const std::string compared = comparison_text(mean->value, "<", threshold_);
      return JudgementText{std::string(mean->origin_text()), compared, "abs_mean " + compared};
    });
  }

  double threshold_;
};

}  // namespace

RuleDefinition vanishing_gradient() { return VanishingGradient::definition(); }

}  // namespace cupel::rules_detail
