// A large part of a ReLU layer is never active: a unit is active in the samples of a batch where
// its output is > 0, dead if those are less than threshold_inactivity percent; the dead ones must
// not be more than threshold_layer percent of all units. NaN is not active.
//
// A saved min > 0 proves that every unit is always active, a saved max <= 0 that none ever is.

#include <array>
#include <optional>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "layer_units.h"
#include "tensor_rule.h"
#include "tensor_selection.h"

namespace cupel {
namespace {

constexpr Reduction kMin{ReductionOp::Min, false}, kMax{ReductionOp::Max, false};
constexpr std::string_view kDefaultPattern = ".*relu_output";

class DeadRelu final : public TensorRule {
 public:
  static constexpr std::string_view kName = "DeadRelu";
  static constexpr std::string_view kSummary = "a large part of a ReLU layer is never active";
  static constexpr std::string_view kDescription = R"(
Axis 0 of a layer's output is the batch; every element position behind it is a unit, and a list of
numbers is a batch of one.

    active(unit) = 100 * (samples in which output > 0) / samples
    a unit is dead if active(unit) < threshold_inactivity
    100 * dead / units > threshold_layer fires

Both comparisons are strict: exactly half of the units dead is fine by default. Each batch stands
alone, for each worker by itself, in every mode: a unit that is dead in this batch may live in the
next. With fewer than 100 samples the default threshold_inactivity means that no sample activates
the unit. NaN is not active. Scalars, text and empty tensors are skipped.

A saved min above 0 proves that every unit is always active, a saved max of at most 0 that none is;
all else takes the raw value, every element once. Save the outputs at an interval of some hundred
steps. The default pattern is found in names that contain relu_output; where nothing matches, the
rule says so after 10 steps.
)";
  static constexpr std::string_view kExample =
      "DeadRelu,tensor_regex=relu[0-9]*_output,threshold_layer=30";
  static constexpr std::array kParameters = {
      ParameterInfo{"tensor_regex", "list", kDefaultPattern,
                    "patterns searched in the names of tensors"},
      ParameterInfo{"threshold_inactivity", "float", "1.0",
                    "a unit is dead if it is active in less than so many percent of the samples "
                    "(0 to 100)"},
      ParameterInfo{"threshold_layer", "float", "50.0",
                    "fires when more than so many percent of the units are dead (0 to 100)"}};
  struct Options {
    PatternList patterns = kDefaultPattern;
    double inactivity = 1;
    double layer = 50;
  };

  static Options read(ParameterReader& reader) {
    return {.patterns = read_patterns(reader, "tensor_regex"),
            .inactivity = reader.number("threshold_inactivity", 0, 100),
            .layer = reader.number("threshold_layer", 0, 100)};
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = {.patterns = options.patterns,
                          .parameters = {"tensor_regex"},
                          .saved_as = "relu_output"},
              .suffices = {TensorSource::value()},
              .spares = {TensorSource::of({kMin}), TensorSource::of({kMax})}}}};
  }

  DeadRelu(Trial& base, const Options& options)
      : TensorRule(base, kName, needs(options)), options_(options) {}

 private:
  void judge(TensorCopy& copy) override {
    if (!has_units(copy)) return;
    const auto min = copy.saved(kMin);
    if (min && *min > 0) return tell(copy, 0, {}, "min (saved)");
    const auto max = copy.saved(kMax);
    if (max && *max <= 0) return tell(copy, options_.inactivity > 0 ? 100 : 0, {}, "max (saved)");
    if (!copy.record().has_value())
      return copy.skip("what was saved leaves open which units are dead; the raw value would say");
    const auto value = copy.value();
    if (!value) return;
    const LayerUnits layer =
        inactive_units(*value, options_.inactivity, [](double output) { return output > 0; });
    tell(copy, layer.percent(), layer, "units (from raw)");
  }

  void tell(TensorCopy& copy, double percent, std::optional<LayerUnits> layer,
            std::string_view read) const {
    copy.judged(percent > options_.layer, percent, options_.layer, [&] {
      const std::string compared = comparison_text(percent, ">", options_.layer);
      std::string message = "percent of dead units " + compared;
      if (layer)
        message += ", " + std::to_string(layer->inactive) + " of " + std::to_string(layer->units);
      return Words{std::string(read), compared, std::move(message)};
    });
  }

  Options options_;
};

}  // namespace

BuiltinRule dead_relu() { return builtin_rule<DeadRelu>(); }

}  // namespace cupel
