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
      return Words{mean->origin_text(), compared, "abs_mean " + compared};
    });
  }

  double threshold_;
};

}  // namespace

BuiltinRule vanishing_gradient() { return builtin_rule<VanishingGradient>(); }

}  // namespace cupel
