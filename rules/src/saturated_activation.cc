// The inputs of a tanh or sigmoid layer are so large that hardly any gradient passes: a unit is
// active in the samples of a batch where its input lies between the bounds of that function,
// saturated if those are less than threshold_inactivity percent; the saturated ones must not be
// more than threshold_layer percent of all units. NaN is not active.
//
// A saved min and max between the bounds prove that every unit is always active; a range outside of
// them, that none ever is.

#include <optional>
#include <string>
#include <utility>

#include "builtin_table.h"
#include "cupel/core/ascii.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "layer_units.h"
#include "plain_reductions.h"
#include "tensor_selection.h"
#include "usual_names.h"

namespace cupel::rules_detail {
namespace {

// Between these, which do not belong to it, an activation function passes gradients.
struct Bounds {
  double low = 0;
  double high = 0;
};

class SaturatedActivation final : public TensorRule {
 public:
  struct Options {
    std::vector<std::string> collections;
    PreferredNames names;
    Bounds tanh;
    Bounds sigmoid;
    std::vector<double> tanh_pair;     // the older spelling
    std::vector<double> sigmoid_pair;  // likewise
    double inactivity = 0;
    double layer = 0;
  };

  static RuleDefinition definition(Definitions edition) {
    return define_rule<SaturatedActivation>(
        {.name = "SaturatedActivation",
         .edition = edition,
         .summary = "a large part of a tanh or sigmoid layer saturates",
         .description =
             R"(
The rule judges inputs of tanh and sigmoid layers. The name of a tensor decides between the two: the
function that is mentioned last counts, in any case of letters, and a name that mentions neither is
skipped. Axis 0 is the batch, every element position behind it is a unit, and a list of numbers is a
batch of one.

    active(unit) = 100 * (samples in which min < input < max) / samples
    a unit is saturated if active(unit) < threshold_inactivity
    100 * saturated / units > threshold_layer fires

min and max are threshold_tanh_min and threshold_tanh_max, or those of sigmoid. An input of exactly
min or max is outside, and NaN is not active. Between the default bounds, the gradient of the
function is not zero in f32. The rule judges each batch and each worker by itself, in every mode.
Scalars, text and empty tensors are skipped.

A saved min and max within the bounds prove that no unit is saturated; a range outside of the bounds
proves that all units are. Otherwise the rule reads the raw value, every element once. Save min and
max beside the raw value: healthy steps then cost nothing.
)" + usual_names_page(edition, R"(
inputs of layers called tanh or sigmoid, such as tanh1_input_0 or sigmoid_2/inputs, but not of
hardtanh, hard_sigmoid and log_sigmoid)"),
         .example = "SaturatedActivation,tensor_regex=tanh[0-9]*_input,threshold_layer=30"},
        {option(&Options::collections, collection_names()),
         preferred_names(
             &Options::names,
             {.name = "tensor_regex",
              .default_text = ".*tanh_input|.*sigmoid_input",
              .help = "patterns searched in the names of tensors; where they or collections are "
                      "given, no other names count"},
             tanh_and_sigmoid_inputs(edition)),
         option(&Options::tanh, &Bounds::low,
                {.name = "threshold_tanh_min",
                 .default_text = "-9.4999",
                 .help = "inputs of tanh saturate at this and below"}),
         option(&Options::tanh, &Bounds::high,
                {.name = "threshold_tanh_max",
                 .default_text = "9.4999",
                 .help = "inputs of tanh saturate at this and above"}),
         option(&Options::tanh_pair,
                {.name = "threshold_tanh", .help = "older spelling of these two: (min, max)"}),
         option(&Options::sigmoid, &Bounds::low,
                {.name = "threshold_sigmoid_min",
                 .default_text = "-23",
                 .help = "inputs of sigmoid saturate at this and below"}),
         option(&Options::sigmoid, &Bounds::high,
                {.name = "threshold_sigmoid_max",
                 .default_text = "16.99999",
                 .help = "inputs of sigmoid saturate at this and above"}),
         option(&Options::sigmoid_pair,
                {.name = "threshold_sigmoid", .help = "older spelling of these two: (min, max)"}),
         option(&Options::inactivity,
                {.name = "threshold_inactivity",
                 .default_text = "1.0",
                 .range = {.least = 0, .most = 100},
                 .help =
                     "a unit is saturated if it is between the bounds in less than so many percent "
                     "of the samples (0 to 100)"}),
         option(
             &Options::layer,
             {.name = "threshold_layer",
              .default_text = "50.0",
              .range = {.least = 0, .most = 100},
              .help =
                  "fires when more than so many percent of the units are saturated (0 to 100)"})});
  }

  static void check(Options& options, const ParameterValues& values, ParameterMistakes& mistakes) {
    // The default pattern counts where nothing else chooses.
    if (!options.collections.empty() && !values.is_given("tensor_regex")) options.names = {};
    check_bounds("threshold_tanh", options.tanh, options.tanh_pair, values, mistakes);
    check_bounds("threshold_sigmoid", options.sigmoid, options.sigmoid_pair, values, mistakes);
  }

  static RuleNeeds needs(const Options& options) {
    NeededTensors tensors = selected_tensors(options.collections, options.names.patterns, false);
    tensors.fallbacks = options.names.fallbacks;
    return {{{.tensors = std::move(tensors),
              .suffices = {TensorSource::value()},
              .spares = {TensorSource::of({kMin, kMax})}}}};
  }

  SaturatedActivation(Trial& base, const Options& options)
      : TensorRule(base, needs(options)), options_(options) {}

 private:
  // Takes the pair, if it is given, for the bounds, and adds what is wrong with them.
  static void check_bounds(const std::string& name, Bounds& bounds, const std::vector<double>& pair,
                           const ParameterValues& values, ParameterMistakes& mistakes) {
    const std::string min = name + "_min";
    const std::string max = name + "_max";
    const bool has_pair = values.is_given(name);
    const auto fail = [&](std::string message) {
      mistakes.add(std::move(message), has_pair ? name : min);
    };
    if (has_pair && (values.is_given(min) || values.is_given(max)))
      return fail(name + " is the older spelling of " + min + " and " + max + "; give it or them");
    if (values.find(min) == nullptr || values.find(max) == nullptr) return;
    if (has_pair) {
      if (values.find(name) == nullptr) return;
      if (pair.size() != 2)
        return fail("parameter " + name + " holds " + std::to_string(pair.size()) +
                    (pair.size() == 1 ? " number" : " numbers") + "; legal is (min, max)");
      bounds = {pair[0], pair[1]};
    }
    if (bounds.low >= bounds.high)
      fail((has_pair ? name + " must rise" : min + " must be less than " + max) + ": " +
           comparison_text(bounds.low, ">=", bounds.high));
  }

  // Those of the function that the name speaks of last, in whatever case.
  std::optional<Bounds> bounds_of(const std::string& tensor) const {
    const std::string name = lower_case(tensor);
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
      return report(copy, *bounds, 0, {}, "min, max (saved)");
    const double all = options_.inactivity > 0 ? 100 : 0;
    if (min && *min >= bounds->high) return report(copy, *bounds, all, {}, "min (saved)");
    if (max && *max <= bounds->low) return report(copy, *bounds, all, {}, "max (saved)");
    if (!copy.record().has_value())
      return copy.skip(
          "what was saved leaves open which units are saturated; the raw value would say");
    const auto value = copy.value();
    if (!value) return;
    const LayerUnits layer = inactive_units(*value, options_.inactivity, [&](double input) {
      return input > bounds->low && input < bounds->high;
    });
    report(copy, *bounds, layer.percent(), layer, "units (from raw)");
  }

  void report(TensorCopy& copy, const Bounds& bounds, double percent,
              std::optional<LayerUnits> layer, std::string_view read) const {
    copy.judged(percent > options_.layer, percent, options_.layer, [&] {
      const std::string compared = comparison_text(percent, ">", options_.layer);
      std::string message = "percent of saturated units " + compared;
      if (layer)
        message += ", " + std::to_string(layer->inactive) + " of " + std::to_string(layer->units);
      message += ", outside of " + short_text(bounds.low) + " to " + short_text(bounds.high);
      return JudgementText{std::string(read), compared, std::move(message)};
    });
  }

  Options options_;
};

}  // namespace

RuleDefinition saturated_activation(Definitions edition) {
  return SaturatedActivation::definition(edition);
}

}  // namespace cupel::rules_detail
