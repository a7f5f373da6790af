// The weights that training began with are bad, which its first steps show by any of three signs:
//   1. the variances of the inputs of activations differ between layers: largest / smallest is
//      above threshold;
//   2. a gradient has hardly any spread: its 95th percentile less its 5th is below
//      distribution_range;
//   3. the loss, the mean of all scalar losses of a step, does not fall below the lowest for
//      `patience` steps.
// Each worker is judged by itself, but for the loss.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/preferred_selection.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/run_memory.h"
#include "elements.h"
#include "judged_mode.h"
#include "labelled_step.h"
#include "plain_reductions.h"
#include "tensor_selection.h"
#include "usual_names.h"

namespace cupel::rules_detail {
namespace {

// Between the two elements that are nearest to that part of the sorted ones.
double percentile(std::vector<double>& elements, double part) {
  const double place = part * static_cast<double>(elements.size() - 1);
  const double below = std::floor(place);
  const auto at = elements.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(elements.begin(), at, elements.end());
  if (at + 1 == elements.end() || place == below) return *at;
  return *at + (place - below) * (*std::min_element(at + 1, elements.end()) - *at);
}

// From the 5th to the 95th percentile; NaN if an element is.
double spread(const TensorValue& value) {
  std::vector<double> elements(static_cast<std::size_t>(value.elements()));
  widen(value, 0, elements);
  if (std::any_of(elements.begin(), elements.end(), [](double x) { return std::isnan(x); }))
    return std::numeric_limits<double>::quiet_NaN();
  const double high = percentile(elements, 0.95);
  return high - percentile(elements, 0.05);
}

// A tensor with the number that it is compared by.
struct Measured {
  const std::string* tensor = nullptr;
  double number = 0;
};

struct Extremes {
  Measured least;
  Measured most;
  int count = 0;

  void add(const Measured& measured) {
    if (count == 0 || measured.number < least.number) least = measured;
    if (count == 0 || measured.number > most.number) most = measured;
    ++count;
  }
};

using ByWorker = std::map<std::string_view, Extremes>;

// The mean of the losses of one step.
struct MeanLoss {
  std::int64_t step = -1;
  double sum = 0;
  int count = 0;
  const std::string* tensor = nullptr;  // the first
  std::string_view worker;
  double value() const noexcept { return sum / count; }
};

// The loss over the steps taken in.
struct LossHistory {
  double lowest = std::numeric_limits<double>::infinity();
  std::int64_t since = 0;  // so many steps

  void add(double loss) noexcept {
    if (loss < lowest) {
      lowest = loss;
      since = 0;
    } else {
      ++since;
    }
  }
};

class PoorWeightInitialization final : public Rule {
 public:
  struct Options {
    PreferredNames activations;
    double threshold = 0;
    double range = 0;
    std::int64_t patience = 0;
    double steps = 0;
  };

  static RuleDefinition definition(Definitions edition) {
    return define_rule<PoorWeightInitialization>(
        {.name = "PoorWeightInitialization",
         .edition = edition,
         .summary = "training began with bad weights",
         .description =
             R"(
The rule judges the first saved steps at which anything that it reads is there. The parameter steps
is the number of these steps; they are steps of TRAIN if the run has any. Later steps are not
applicable. Any of three signs fires:

    largest / smallest variance of the inputs of activations > threshold
    95th - 5th percentile of a gradient < distribution_range
    steps since the lowest loss >= patience

The variances are those of the layers at one step of one worker; at least two layers are compared. A
variance of 0 is infinitely far from any other. A percentile lies between the two nearest elements,
as in numpy. The loss of a step is the mean of all scalars of the collection losses over all
workers; its history begins with the run. A sign whose tensors are missing is not judged. Single
elements, text, empty tensors and NaN are skipped, and a loss that is not finite is ignored.

Variances (or std) and losses are read from the index where they were saved; gradients are read as
raw values and sorted in part. With an interval of 500, "the first 10 steps" end at step 4500: save
every step up to the tenth instead.
)" + usual_names_page(edition, R"(
inputs of layers called relu, such as relu1_input_0 or re_lu_1/inputs; without those, inputs of
other activations, such as act_fn, gelu, silu, tanh and sigmoid)"),
         .example = "PoorWeightInitialization,steps=20"},
        {preferred_names(
             &Options::activations,
             {.name = "activation_inputs_regex",
              .default_text = ".*relu_input",
              .help = "patterns searched in names of inputs of activations; where they are given, "
                      "no other names count"},
             activation_inputs(edition)),
         option(&Options::threshold, {.name = "threshold",
                                      .default_text = "10.0",
                                      .range = {.least = 0},
                                      .help = "fires when the variances of these inputs differ by "
                                              "more than this factor (>= 0)"}),
         option(&Options::range,
                {.name = "distribution_range",
                 .default_text = "0.001",
                 .range = {.least = 0},
                 .help = "fires when the 5th and 95th percentile of a gradient are closer (>= 0)"}),
         option(
             &Options::patience,
             {.name = "patience",
              .default_text = "5",
              .range = {.least = 1},
              .help =
                  "fires when the loss does not fall below the lowest for so many steps (>= 1)"}),
         option<double, Options>(
             {.name = "steps",
              .default_text = "10",
              .range = {.least = 1},
              .help = "the number of saved steps that are judged (>= 1)"},
             [](Options& options, double value, ParameterMistakes& /*mistakes*/) {
               options.steps = std::floor(value);
             })});
  }

  static RuleNeeds needs(const Options& options) {
    const std::vector<Mode> modes = {Mode::Train, Mode::Global};
    // An interval of 1 up to there; only the first steps are judged.
    constexpr double kFew = 1e6;
    const SaveTimes first_steps = {
        .every_mode = {.save_interval = 1,
                       .end_step = static_cast<std::int64_t>(std::min(options.steps, kFew))}};
    return {.tensors = {{.tensors = needed_tensors(options.activations, "activation_inputs_regex",
                                                   "relu_input"),
                         .suffices = sources_of(kVariance),
                         .modes = modes,
                         .times = first_steps},
                        {.tensors = {.collections = {"gradients"}},
                         .suffices = {TensorSource::value()},
                         .modes = modes,
                         .times = first_steps},
                        {.tensors = {.collections = {"losses"}},
                         .suffices = sources_of(kMean),
                         .modes = modes,
                         .steps = one_more(options.patience, "patience"),
                         .times = first_steps}},
            .any_suffices = true};
  }

  PoorWeightInitialization(Trial& base, const Options& options)
      : Rule(base),
        options_(options),
        all_({"gradients", "losses"}, options.activations.patterns),
        activations_(needs(options).tensors.front().tensors),
        gradients_({"gradients"}),
        losses_({"losses"}) {}

  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    const Mode judged = judged_mode(base_trial(), {Mode::Train, Mode::Global});
    if (!is_judged(base_trial().mode(step).value_or(Mode::Global), judged)) {
      verdict.not_applicable("the rule judges the steps of TRAIN");
      return verdict;
    }
    if (activations_.choose(step, base_trial())) {
      all_ = NameSelection({"gradients", "losses"}, activations_.names().patterns());
      steps_memory_.start_over();
    }
    remember_before(step, judged);
    const bool too_late = found_ >= options_.steps;
    const std::size_t selected =
        base_trial().visit_step(step, all_, [&](const RecordView& record) { find(record); });
    if (selected == 0)
      verdict.not_applicable("nothing that the rule reads was saved at this step");
    else if (too_late)
      verdict.not_applicable("the steps that the rule judges are over");
    if (!verdict.applicable()) return verdict;
    judge_activations(step, verdict);
    judge_gradients(step, verdict);
    judge_loss(step, verdict);
    return verdict;
  }

 private:
  void remember_before(std::int64_t step, Mode judged) {
    if (judged != judged_) {
      steps_memory_.start_over();
      losses_memory_.start_over();
    }
    judged_ = judged;
    steps_memory_.bring_before(
        step, base_trial(), all_,
        [this] {
          found_ = 0;
          last_found_ = -1;
        },
        [this](const RecordView& record) {
          if (is_judged(record.mode(), judged_)) find(record);
        });
    MeanLoss open;
    losses_memory_.bring_before(
        step, base_trial(), losses_, [this] { history_ = {}; },
        [&](const RecordView& record) {
          if (!is_judged(record.mode(), judged_)) return;
          if (open.step != record.step()) take(std::exchange(open, {}));
          Verdict unheard;
          add(record, open, unheard);
        });
    take(open);
  }

  void find(const RecordView& record) {
    if (record.step() == last_found_) return;
    last_found_ = record.step();
    ++found_;
  }

  void judge_activations(std::int64_t step, Verdict& verdict) {
    ByWorker variances;
    base_trial().visit_step(step, activations_.names(), [&](const RecordView& record) {
      TensorCopy copy(*this, record, verdict);
      if (!copy.has_numbers()) return;
      if (record.elements() == 1) return copy.skip("one element has no variance");
      const auto variance = copy.number(kVariance);
      if (!variance) return;
      if (std::isnan(variance->value)) return copy.skip("its variance is NaN");
      variances[record.worker()].add({&record.tensor(), variance->value});
    });
    for (const auto& of_worker : variances) {
      const auto& [least, most, count] = of_worker.second;
      if (count < 2) {
        report_judgement(*this, verdict, {*least.tensor, of_worker.first}, [] {
          return JudgementText{"variances", "one layer, and none to compare it with", {}};
        });
        continue;
      }
      const double ratio = most.number > 0 ? most.number / least.number : 1;
      const std::string between = ", " + short_text(most.number) + " and " +
                                  short_text(least.number) + " of " + *least.tensor;
      report_judgement(
          *this, verdict,
          {*most.tensor, of_worker.first, ratio > options_.threshold, ratio, options_.threshold},
          [&] {
            const std::string compared =
                "variance ratio " + comparison_text(ratio, ">", options_.threshold);
            return JudgementText{"variances", compared, compared + between};
          });
    }
  }

  void judge_gradients(std::int64_t step, Verdict& verdict) {
    ByWorker spreads;
    base_trial().visit_step(step, gradients_, [&](const RecordView& record) {
      TensorCopy copy(*this, record, verdict);
      if (!copy.has_numbers()) return;
      if (record.elements() == 1) return copy.skip("one element has no spread");
      if (!record.has_value()) return copy.skip("the raw value was not saved");
      const auto value = copy.value();
      if (!value) return;
      const double between = spread(*value);
      if (std::isnan(between)) return copy.skip("its percentiles are not numbers");
      spreads[record.worker()].add({&record.tensor(), between});
    });
    for (const auto& of_worker : spreads) {
      const Measured& least = of_worker.second.least;
      report_judgement(*this, verdict,
                       {*least.tensor, of_worker.first, least.number < options_.range, least.number,
                        options_.range},
                       [&] {
                         const std::string compared =
                             "least spread " + comparison_text(least.number, "<", options_.range);
                         return JudgementText{"percentiles (from raw)", compared, compared};
                       });
    }
  }

  void judge_loss(std::int64_t step, Verdict& verdict) {
    MeanLoss now;
    base_trial().visit_step(step, losses_,
                            [&](const RecordView& record) { add(record, now, verdict); });
    take(now);
    if (now.count == 0) return;
    const std::string read = "mean of " + std::to_string(now.count) + " losses";
    if (!std::isfinite(now.value())) {
      report_judgement(*this, verdict, {*now.tensor, now.worker}, [&] {
        return JudgementText{read, "not finite", {}};
      });
      return;
    }
    const auto since = static_cast<double>(history_.since);
    const auto patience = static_cast<double>(options_.patience);
    report_judgement(
        *this, verdict,
        {*now.tensor, now.worker, history_.since >= options_.patience, since, patience}, [&] {
          const std::string compared =
              "steps since the lowest loss " + comparison_text(since, ">=", patience);
          return JudgementText{read, compared,
                               compared + ", it was " + short_text(history_.lowest) + " and is " +
                                   short_text(now.value())};
        });
  }

  // Only scalars are losses to be followed; the collection may hold what they are made of.
  void add(const RecordView& record, MeanLoss& into, Verdict& verdict) const {
    TensorCopy copy(*this, record, verdict);
    if (record.elements() != 1)
      return copy.remembered([] {
        return JudgementText{"elements (saved)", "no scalar, and not followed", {}};
      });
    if (!copy.has_numbers()) return;
    const auto mean = copy.number(kMean);
    if (!mean) return;
    if (into.count == 0) into = {record.step(), 0, 0, &record.tensor(), record.worker()};
    into.sum += mean->value;
    ++into.count;
  }

  // A loss that is not finite is ignored.
  void take(const MeanLoss& loss) {
    if (loss.count > 0 && std::isfinite(loss.value())) history_.add(loss.value());
  }

  Options options_;
  NameSelection all_;
  PreferredSelection activations_;
  NameSelection gradients_;
  NameSelection losses_;
  Mode judged_ = Mode::Global;
  RunMemory steps_memory_;
  double found_ = 0;  // steps with anything that was selected
  std::int64_t last_found_ = -1;
  RunMemory losses_memory_;
  LossHistory history_;
};

}  // namespace

RuleDefinition poor_weight_initialization(Definitions edition) {
  return PoorWeightInitialization::definition(edition);
}

}  // namespace cupel::rules_detail
