// The variance of a tensor leaves its bounds.

#include <array>
#include <limits>
#include <optional>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "tensor_rule.h"
#include "tensor_selection.h"

namespace cupel {
namespace {

constexpr Reduction kElementVariance{ReductionOp::Variance, false};

class TensorVariance final : public TensorRule {
 public:
  static constexpr std::string_view kName = "TensorVariance";
  static constexpr std::string_view kSummary = "the variance of a tensor is too large or too small";
  static constexpr std::string_view kDescription = R"(
The variance of a tensor, its mean square distance from its mean (divided by n, not n - 1):

    variance > max_threshold, or variance < min_threshold, fires

Both are strict, and at least one of them has to be given, with collection_names or tensor_regex to
say of what. Each worker's copy is judged by itself, each step by itself, in every mode.

A saved variance is taken, else the square of a saved std; otherwise the raw value is read, every
element once. A tensor of one element does not vary and is skipped, as are text, empty tensors, and
what was saved with other reductions only. NaN never fires; an infinite variance is above any
threshold.

The reduction variance alone feeds the rule. Of activations a small variance tells of a signal that
dies out from layer to layer, of weights a large one of training that runs away.
)";
  static constexpr std::string_view kExample =
      "TensorVariance,collection_names=weights,max_threshold=10,min_threshold=1e-6";
  static constexpr std::array kParameters = {
      kCollectionNames, kTensorRegex,
      ParameterInfo{"max_threshold", "float", "", "fires when a variance is above this (>= 0)"},
      ParameterInfo{"min_threshold", "float", "", "fires when a variance is below this (>= 0)"}};
  struct Options {
    NeededTensors tensors = unread_selection(false);
    std::optional<double> most = std::nullopt;
    std::optional<double> least = std::nullopt;
  };

  static Options read(ParameterReader& reader) {
    constexpr NumberRange kLegal{0, std::numeric_limits<double>::max()};
    Options options{.tensors = read_required_selection(reader)};
    const std::size_t mistakes = reader.mistakes();
    options.most = reader.optional_number("max_threshold", kLegal);
    options.least = reader.optional_number("min_threshold", kLegal);
    if (!options.most && !options.least && reader.mistakes() == mistakes)
      reader.fail("neither max_threshold nor min_threshold is given; at least one is needed");
    if (options.most && options.least && *options.least >= *options.most)
      reader.fail("min_threshold must be less than max_threshold: " +
                  comparison_text(*options.least, ">=", *options.most));
    return options;
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = options.tensors, .suffices = sources_of(kElementVariance)}}};
  }

  TensorVariance(Trial& base, const Options& options)
      : TensorRule(base, kName, needs(options)), most_(options.most), least_(options.least) {}

 private:
  void judge(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    if (copy.record().elements() == 1) return copy.skip("one element does not vary");
    const auto variance = copy.number(kElementVariance);
    if (!variance) return;
    const bool above = most_ && variance->value > *most_;
    const bool below = least_ && variance->value < *least_;
    const double bound = below || !most_ ? *least_ : *most_;
    copy.judged(above || below, variance->value, bound, [&] {
      std::string compared;
      if (most_ && !below) compared = comparison_text(variance->value, ">", *most_);
      if (least_ && !above)
        compared += (compared.empty() ? "" : ", ") + comparison_text(variance->value, "<", *least_);
      return Words{std::string(variance->origin_text()), compared, "variance " + compared};
    });
  }

  std::optional<double> most_;
  std::optional<double> least_;
};

}  // namespace

BuiltinRule tensor_variance() { return builtin_rule<TensorVariance>(); }

}  // namespace cupel
