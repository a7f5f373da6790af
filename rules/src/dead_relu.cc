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
    const auto min = copy.record().reduction(kMin);
    if (min && *min > 0) return tell(copy, 0, {}, "min (saved)");
    const auto max = copy.record().reduction(kMax);
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
