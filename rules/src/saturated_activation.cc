// The inputs of a tanh or sigmoid layer are so large that hardly any gradient passes: a unit is
// active in the samples of a batch where its input lies between the bounds of that function,
// saturated if those are less than threshold_inactivity percent; the saturated ones must not be
// more than threshold_layer percent of all units. NaN is not active.
//
// A saved min and max between the bounds prove that every unit is always active; a range outside of
// them, that none ever is.

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "layer_units.h"
#include "tensor_rule.h"
#include "tensor_selection.h"

namespace cupel {
namespace {

constexpr Reduction kMin{ReductionOp::Min, false}, kMax{ReductionOp::Max, false};
constexpr std::string_view kDefaultPattern = ".*tanh_input|.*sigmoid_input";

// Between these, which do not belong to it, an activation function passes gradients.
struct Bounds {
  double low = 0;
  double high = 0;
};

class SaturatedActivation final : public TensorRule {
 public:
  static constexpr std::string_view kName = "SaturatedActivation";
  static constexpr std::string_view kSummary = "a large part of a tanh or sigmoid layer saturates";
  static constexpr std::string_view kDescription = R"(
Looks at inputs of tanh and sigmoid layers: which of the two is what the name speaks of last, in any
case; a name that speaks of neither is skipped. Axis 0 is the batch, every element position behind
it a unit, and a list of numbers a batch of one.

    active(unit) = 100 * (samples in which min < input < max) / samples
    a unit is saturated if active(unit) < threshold_inactivity
    100 * saturated / units > threshold_layer fires

min and max are threshold_tanh_min and threshold_tanh_max, or those of sigmoid; an input that is
exactly one of them is outside, and NaN is not active. Between the defaults the gradient of the
function is more than nothing in f32. Each batch stands alone, for each worker by itself, in every
mode. Scalars, text and empty tensors are skipped.

A saved min and max within the bounds prove that no unit is saturated, a range beyond them that all
are; all else takes the raw value, every element once. Saving min and max beside it makes healthy
steps cost nothing.
)";
  static constexpr std::string_view kExample =
      "SaturatedActivation,tensor_regex=tanh[0-9]*_input,threshold_layer=30";
  static constexpr std::array kParameters = {
      kCollectionNames,
      ParameterInfo{"tensor_regex", "list", kDefaultPattern,
                    "patterns searched in the names of tensors; no default where collections are "
                    "given"},
      ParameterInfo{"threshold_tanh_min", "float", "-9.4999", "inputs of tanh saturate from here"},
      ParameterInfo{"threshold_tanh_max", "float", "9.4999", "and from here"},
      ParameterInfo{"threshold_tanh", "list", "", "older spelling of these two: (min, max)"},
      ParameterInfo{"threshold_sigmoid_min", "float", "-23",
                    "inputs of sigmoid saturate from here"},
      ParameterInfo{"threshold_sigmoid_max", "float", "16.99999", "and from here"},
      ParameterInfo{"threshold_sigmoid", "list", "", "older spelling of these two: (min, max)"},
      ParameterInfo{"threshold_inactivity", "float", "1.0",
                    "a unit is saturated if it is between the bounds in less than so many percent "
                    "of the samples (0 to 100)"},
      ParameterInfo{"threshold_layer", "float", "50.0",
                    "fires when more than so many percent of the units are saturated (0 to 100)"}};
  struct Options {
    NeededTensors tensors = {.patterns = kDefaultPattern,
                             .parameters = {"collection_names", "tensor_regex"}};
    Bounds tanh = {-9.4999, 9.4999};
    Bounds sigmoid = {-23, 16.99999};
    double inactivity = 1;
    double layer = 50;
  };

  static Options read(ParameterReader& reader) {
    Options options;
    options.tensors.collections = reader.list("collection_names");
    const bool chosen = !options.tensors.collections.empty();
    options.tensors.patterns = chosen && !reader.is_given("tensor_regex")
                                   ? PatternList()
                                   : read_patterns(reader, "tensor_regex");
    options.tanh = read_bounds(reader, "threshold_tanh");
    options.sigmoid = read_bounds(reader, "threshold_sigmoid");
    options.inactivity = reader.number("threshold_inactivity", 0, 100);
    options.layer = reader.number("threshold_layer", 0, 100);
    return options;
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = options.tensors,
              .suffices = {TensorSource::value()},
              .spares = {TensorSource::of({kMin, kMax})}}}};
  }

  SaturatedActivation(Trial& base, const Options& options)
      : TensorRule(base, kName, needs(options)), options_(options) {}

 private:
  static Bounds read_bounds(ParameterReader& reader, const std::string& name) {
    constexpr double kMost = std::numeric_limits<double>::max();
    constexpr NumberRange kFinite{-kMost, kMost};
    const std::string min = name + "_min";
    const std::string max = name + "_max";
    const std::size_t mistakes = reader.mistakes();
    Bounds bounds{reader.number(min, kFinite), reader.number(max, kFinite)};
    std::string names = min + " must be less than " + max;
    if (reader.is_given(name)) {
      if (reader.is_given(min) || reader.is_given(max))
        reader.fail(name + " is the older spelling of " + min + " and " + max +
                    "; give it or them");
      const std::vector<double> both = reader.numbers(name, kFinite);
      if (reader.mistakes() != mistakes) return bounds;
      if (both.size() != 2) {
        reader.fail("parameter " + name + " holds " + std::to_string(both.size()) +
                    (both.size() == 1 ? " number" : " numbers") + "; legal is (min, max)");
        return bounds;
      }
      bounds = {both[0], both[1]};
      names = name + " must rise";
    }
    if (reader.mistakes() == mistakes && bounds.low >= bounds.high)
      reader.fail(names + ": " + comparison_text(bounds.low, ">=", bounds.high));
    return bounds;
  }

  // Those of the function that the name speaks of last, in whatever case.
  std::optional<Bounds> bounds_of(const std::string& tensor) const {
    std::string name = tensor;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const std::size_t tanh = name.rfind("tanh");
    const std::size_t sigmoid = name.rfind("sigmoid");
    if (tanh == std::string::npos && sigmoid == std::string::npos) return std::nullopt;
    const bool is_tanh =
        sigmoid == std::string::npos || (tanh != std::string::npos && tanh > sigmoid);
    return is_tanh ? options_.tanh : options_.sigmoid;
  }

  void judge(TensorCopy& copy) override {
    if (!has_units(copy)) return;
    const auto bounds = bounds_of(copy.record().tensor());
    if (!bounds) return copy.skip("its name speaks neither of tanh nor of sigmoid");
    const auto min = copy.saved(kMin);
    const auto max = copy.saved(kMax);
    if (min && max && *min > bounds->low && *max < bounds->high)
      return tell(copy, *bounds, 0, {}, "min, max (saved)");
    const double all = options_.inactivity > 0 ? 100 : 0;
    if (min && *min >= bounds->high) return tell(copy, *bounds, all, {}, "min (saved)");
    if (max && *max <= bounds->low) return tell(copy, *bounds, all, {}, "max (saved)");
    if (!copy.record().has_value())
      return copy.skip(
          "what was saved leaves open which units are saturated; the raw value would say");
    const auto value = copy.value();
    if (!value) return;
    const LayerUnits layer = inactive_units(*value, options_.inactivity, [&](double input) {
      return input > bounds->low && input < bounds->high;
    });
    tell(copy, *bounds, layer.percent(), layer, "units (from raw)");
  }

  void tell(TensorCopy& copy, const Bounds& bounds, double percent, std::optional<LayerUnits> layer,
            std::string_view read) const {
    copy.judged(percent > options_.layer, percent, options_.layer, [&] {
      const std::string compared = comparison_text(percent, ">", options_.layer);
      std::string message = "percent of saturated units " + compared;
      if (layer)
        message += ", " + std::to_string(layer->inactive) + " of " + std::to_string(layer->units);
      message += ", outside of " + short_text(bounds.low) + " to " + short_text(bounds.high);
      return Words{std::string(read), compared, std::move(message)};
    });
  }

  Options options_;
};

}  // namespace

BuiltinRule saturated_activation() { return builtin_rule<SaturatedActivation>(); }

}  // namespace cupel
