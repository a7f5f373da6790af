// Gradients became so small that learning stops: mean(|gradient|) < threshold for any tensor of the
// collection gradients.

#include <array>
#include <limits>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "tensor_rule.h"

namespace cupel {
namespace {

constexpr Reduction kAbsMean{ReductionOp::Mean, true};

class VanishingGradient final : public TensorRule {
 public:
  static constexpr std::string_view kName = "VanishingGradient";
  static constexpr std::string_view kSummary = "gradients became so small that learning stops";
  static constexpr std::string_view kDescription = R"(
Of every tensor of the collection gradients, each worker's copy by itself,

    abs_mean = mean(|g|) < threshold

fires. A mean of exactly the threshold does not. Each step is judged by itself, the first one like
any other, in every mode; hooks save gradients in training only.

The saved abs_mean is taken, else l1 (or the sum of magnitudes) divided by the number of elements:
then the index is all that is read. Without any of these the raw value is read, every element once.
A tensor of which neither was saved is skipped, and so are text and empty tensors. NaN never fires:
that is for ExplodingTensor.

The reduction abs_mean of the gradients, saved every 10 to 100 steps, is enough and costs hardly
anything. Gradients also become small when training has converged; where that is the plan, a smaller
threshold, or an end step, keeps the rule quiet.
)";
  static constexpr std::string_view kExample = "VanishingGradient,threshold=1e-6";
  static constexpr std::array kParameters = {
      ParameterInfo{"threshold", "float", "1e-7",
                    "fires when the mean magnitude of a gradient is below this (>= 0)"}};
  struct Options {
    double threshold = 0;
  };
  static Options read(ParameterReader& reader) {
    return {reader.number("threshold", 0, std::numeric_limits<double>::max())};
  }
  static RuleNeeds needs(const Options& /*options*/) {
    return {{{.tensors = {.collections = {"gradients"}}, .suffices = sources_of(kAbsMean)}}};
  }

  VanishingGradient(Trial& base, const Options& options)
      : TensorRule(base, kName, needs(options)), threshold_(options.threshold) {}

 private:
  void judge(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const auto mean = copy.number(kAbsMean);
    if (!mean) return;
    copy.judged(mean->value < threshold_, mean->value, threshold_, [&] {
      const std::string compared = comparison_text(mean->value, "<", threshold_);
      return Words{std::string(mean->origin_text()), compared, "abs_mean " + compared};
    });
  }

  double threshold_;
};

}  // namespace

BuiltinRule vanishing_gradient() { return builtin_rule<VanishingGradient>(); }

}  // namespace cupel
