// A large part of a ReLU layer is never active: a unit is active in the samples of a batch where
// its output is > 0, dead if those are less than threshold_inactivity percent; the dead ones must
// not be more than threshold_layer percent of all units. NaN is not active.
//
// A saved min > 0 proves that every unit is always active, a saved max <= 0 that none ever is.
// The last fallback names leave the function open (SiLU called act_fn): a negative output under
// such a name proves that the function is no ReLU, and the copy is skipped.

#include <optional>
#include <string_view>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "layer_units.h"
#include "plain_reductions.h"
#include "tensor_selection.h"
#include "usual_names.h"

namespace cupel::rules_detail {
namespace {

class DeadRelu final : public TensorRule {
 public:
  struct Options {
    PreferredNames names;
    double inactivity = 0;
    double layer = 0;
  };

  static RuleDefinition definition(Definitions edition) {
    return define_rule<DeadRelu>(
        {.name = "DeadRelu",
         .edition = edition,
         .summary = "a large part of a ReLU layer is never active",
         .description =
             R"(
Axis 0 of a layer's output is the batch, and every element position behind it is a unit. A list of
numbers is a batch of one.

    active(unit) = 100 * (samples in which output > 0) / samples
    a unit is dead if active(unit) < threshold_inactivity
    100 * dead / units > threshold_layer fires

Both comparisons are strict: a layer with exactly half of its units dead passes by default. The rule
judges each batch and each worker by itself, in every mode: a unit that is dead in this batch may be
active in the next. With fewer than 100 samples, the default threshold_inactivity means that no
sample activates the unit. NaN is not active. Scalars, text and empty tensors are skipped.

A saved min above 0 proves that every unit is always active, and a saved max of at most 0 proves
that no unit is. Otherwise the rule reads the raw value, every element once: save the outputs at an
interval of a few hundred steps. The default pattern matches names that contain relu_output. Where
no name matches, the rule reports that after 10 steps.
)" + usual_names_page(edition, R"(
outputs of layers called relu, such as relu1_output_0 or re_lu_1/outputs, but not of leaky_relu and
prelu; without those, outputs of layers called activation, act or act_fn; without those, outputs in
the collection activations)") +
             (edition == Definitions::Reference ? "" : R"(
The last two kinds of names leave the function of a layer open. Under them, the rule skips a copy
with negative outputs, because that is no output of a ReLU but of SiLU, GELU or LogSoftmax. A saved
min below 0 answers that without the raw value, and a saved max of at most 0 proves nothing without
a saved min.
)"),
         .example = "DeadRelu,tensor_regex=relu[0-9]*_output,threshold_layer=30"},
        {preferred_names(&Options::names,
                         {.name = "tensor_regex",
                          .default_text = ".*relu_output",
                          .help = "patterns searched in the names of tensors; where they are "
                                  "given, no other names count"},
                         relu_outputs(edition)),
         option(
             &Options::inactivity,
             {.name = "threshold_inactivity",
              .default_text = "1.0",
              .range = {.least = 0, .most = 100},
              .help = "a unit is dead if it is active in less than so many percent of the samples "
                      "(0 to 100)"}),
         option(
             &Options::layer,
             {.name = "threshold_layer",
              .default_text = "50.0",
              .range = {.least = 0, .most = 100},
              .help = "fires when more than so many percent of the units are dead (0 to 100)"})});
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = needed_tensors(options.names, "tensor_regex", "relu_output"),
              .suffices = {TensorSource::value()},
              .spares = {TensorSource::of({kMin}), TensorSource::of({kMax})}}}};
  }

  DeadRelu(Trial& base, const Options& options)
      : TensorRule(base, needs(options)), options_(options) {}

 private:
  static constexpr const char* kNegative =
      "the name leaves the function open, and negative outputs are none of a ReLU";

  // The patterns that were given, the published one and the first fallback names are trusted.
  bool leaves_function_open(std::string_view tensor) const {
    return !options_.names.fallbacks.empty() && !options_.names.patterns.matches(tensor) &&
           !options_.names.fallbacks.front().patterns.matches(tensor);
  }

  void judge(TensorCopy& copy) override {
    if (!has_units(copy)) return;
    const bool is_open = leaves_function_open(copy.record().tensor());
    const auto min = copy.saved(kMin);
    if (min && *min > 0) return report(copy, 0, {}, "min (saved)");
    if (is_open && min && *min < 0) return copy.skip(kNegative);
    const auto max = copy.saved(kMax);
    if (max && *max <= 0 && (!is_open || (min && *min == 0)))
      return report(copy, options_.inactivity > 0 ? 100 : 0, {}, "max (saved)");
    if (!copy.record().has_value())
      return copy.skip("what was saved leaves open which units are dead; the raw value would say");
    const auto value = copy.value();
    if (!value) return;
    bool is_negative = false;
    const LayerUnits layer = inactive_units(*value, options_.inactivity, [&](double output) {
      is_negative = is_negative || output < 0;
      return output > 0;
    });
    if (is_open && is_negative) return copy.skip(kNegative);
    report(copy, layer.percent(), layer, "units (from raw)");
  }

  void report(TensorCopy& copy, double percent, std::optional<LayerUnits> layer,
              std::string_view read) const {
    copy.judged(percent > options_.layer, percent, options_.layer, [&] {
      const std::string compared = comparison_text(percent, ">", options_.layer);
      std::string message = "percent of dead units " + compared;
      if (layer)
        message += ", " + std::to_string(layer->inactive) + " of " + std::to_string(layer->units);
      return JudgementText{std::string(read), compared, std::move(message)};
    });
  }

  Options options_;
};

}  // namespace

RuleDefinition dead_relu(Definitions edition) { return DeadRelu::definition(edition); }

}  // namespace cupel::rules_detail
