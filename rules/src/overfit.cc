// Losses on validation data rise above those on training data:
//   ratio = (validation - training) / |training| > ratio_threshold, `patience` times in a row.
//
// In a run with EVAL steps both are means of the same loss: over the current stretch of EVAL steps,
// and over the latest stretch of TRAIN steps. In a run without, losses are paired by their names at
// one step: train-rmse with validation-rmse, eval-rmse, val-rmse and test-rmse. Which of the two a
// run is can change when its first EVAL step comes, so both are followed.

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "loss_rule.h"
#include "validation_losses.h"

namespace cupel {
namespace {

struct RunningMean {
  double sum = 0;
  std::int64_t count = 0;
  void add(double value) noexcept {
    sum += value;
    ++count;
  }
  double value() const noexcept { return sum / static_cast<double>(count); }
};

// One loss, of both modes.
struct Stretches {
  Mode mode = Mode::Global;  // of the current one
  RunningMean training;
  RunningMean validation;
  std::int64_t times = 0;  // so often in a row it was above the threshold

  RunningMean& enter(Mode now) noexcept {
    RunningMean& mean = now == Mode::Train ? training : validation;
    if (mode != now) mean = {};
    mode = now;
    return mean;
  }
};

// What was measured of one metric last.
struct Metric {
  struct Validation {
    std::optional<Loss> loss;
    std::int64_t times = 0;
  };
  std::optional<Loss> training;
  std::map<std::string_view, Validation> validations;  // by tensor
};

class Overfit final : public LossRule {
 public:
  static constexpr std::string_view kName = "Overfit";
  static constexpr std::string_view kSummary = "losses of validation rise above those of training";
  static constexpr std::string_view kDescription = R"(
Compares validation with training, loss by loss:

    ratio = (validation - training) / |training| > ratio_threshold

patience times in a row fires, and again at each time after; one that is not above begins the count
anew. A ratio of exactly the threshold is not above.

In a run with EVAL steps, validation is the mean of a loss over the current stretch of EVAL steps,
training its mean over the latest stretch of TRAIN steps. Every EVAL step counts as one time. In a
run without, names are paired at one step, as XGBoost gives them: train-rmse with validation-rmse,
eval-rmse, val-rmse or test-rmse; auc, map and other metrics that grow are left out.

Of what is no scalar the mean counts, and of several workers theirs. Losses that are not finite are
not counted, steps before start_step are passed over, and a training loss of 0 is taken for 1e-12.
Losses are scalars, which the index holds: the rule opens no file of values. Save them at every step
of EVAL and often in TRAIN: means of few steps are noisy, and patience helps against that.
)";
  static constexpr std::string_view kExample = "Overfit,patience=3,ratio_threshold=0.2";
  static constexpr double kMost = std::numeric_limits<double>::max();
  static constexpr std::array kParameters = {
      kLossRegex, ParameterInfo{"start_step", "int", "0", "global steps before it are passed over"},
      ParameterInfo{"patience", "int", "1", "so many times in a row (>= 1)"},
      ParameterInfo{"ratio_threshold", "float", "0.1",
                    "fires when validation is above training by more than so much of it"}};
  struct Options {
    NeededTensors losses = losses_collection();
    std::int64_t start_step = 0;
    std::int64_t patience = 1;
    double ratio = 0.1;
  };

  static Options read(ParameterReader& reader) {
    return {.losses = read_losses(reader),
            .start_step = reader.integer("start_step", 0),
            .patience = reader.integer("patience", 1),
            .ratio = reader.number("ratio_threshold", -kMost, kMost)};
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = options.losses,
              .suffices = sources_of({ReductionOp::Mean, false}),
              .each_of = {Mode::Train, Mode::Eval},
              .or_pairs_of_names = true,
              .times = {.of_mode = {{Mode::Train, {.save_interval = 100}},
                                    {Mode::Eval, {.save_interval = 10}}}}}}};
  }

  Overfit(Trial& base, const Options& options)
      : LossRule(base, kName, needs(options)), options_(options) {}

 private:
  void forget() override {
    losses_.clear();
    metrics_.clear();
  }

  void take(const Loss& loss, Verdict* verdict) override {
    if (loss.step < options_.start_step) return noted(verdict, loss, "before start_step");
    if (verdict == nullptr) {
      take_by_mode(loss, nullptr);
      take_by_name(loss, nullptr);
    } else if (has_evaluation(base_trial())) {
      take_by_name(loss, nullptr);
      take_by_mode(loss, verdict);
    } else {
      take_by_mode(loss, nullptr);
      take_by_name(loss, verdict);
    }
  }

  void take_by_mode(const Loss& loss, Verdict* verdict) {
    if (loss.mode != Mode::Train && loss.mode != Mode::Eval)
      return noted(verdict, loss, kNotOfThisMode);
    Stretches& of = losses_[loss.tensor];
    RunningMean& mean = of.enter(loss.mode);
    if (!std::isfinite(loss.value)) return noted(verdict, loss, "not finite");
    mean.add(loss.value);
    if (loss.mode == Mode::Train) return noted(verdict, loss, "a step of TRAIN");
    if (of.training.count == 0) return noted(verdict, loss, "no loss of TRAIN to compare with");
    compare(loss, of.validation.value(), of.training.value(), of.times, verdict);
  }

  void take_by_name(const Loss& loss, Verdict* verdict) {
    const LossName name = loss_name(*loss.tensor);
    switch (name.kind) {
      case LossName::Kind::Training: {
        Metric& metric = metrics_[name.metric];
        metric.training = loss;
        for (auto& [tensor, validation] : metric.validations)
          compare_pair(metric, validation, verdict);
        return noted(verdict, loss, "of training, for losses of validation");
      }
      case LossName::Kind::Validation: {
        Metric& metric = metrics_[name.metric];
        Metric::Validation& validation = metric.validations[*loss.tensor];
        validation.loss = loss;
        if (compare_pair(metric, validation, verdict)) return;
        return noted(verdict, loss, "waits for a loss of training at this step");
      }
      case LossName::Kind::Growing:
        return noted(verdict, loss, "a metric that grows");
      case LossName::Kind::Other:
        return noted(verdict, loss, "no EVAL step, and no name of a pair");
    }
  }

  // When the second of the two has come; whether it has.
  bool compare_pair(const Metric& metric, Metric::Validation& validation, Verdict* verdict) const {
    if (!metric.training || metric.training->step != validation.loss->step) return false;
    const double above = validation.loss->value;
    const double base = metric.training->value;
    if (!std::isfinite(above) || !std::isfinite(base))
      noted(verdict, *validation.loss, "not finite");
    else
      compare(*validation.loss, above, base, validation.times, verdict);
    return true;
  }

  void compare(const Loss& loss, double validation, double training, std::int64_t& times,
               Verdict* verdict) const {
    const double ratio = (validation - training) / percentage_base(training);
    const bool above = ratio > options_.ratio;
    times = above ? times + 1 : 0;
    if (verdict == nullptr) return;
    judged(*verdict, loss, times >= options_.patience, ratio, options_.ratio, [&] {
      const std::string compared = comparison_text(ratio, ">", options_.ratio);
      const std::string so_far =
          ", " + std::to_string(times) + " of " + std::to_string(options_.patience) + " times";
      return Words{{},
                   compared + (above && times < options_.patience ? so_far : ""),
                   "ratio " + compared + ", validation " + short_text(validation) + ", training " +
                       short_text(training) +
                       (times > 1 ? ", " + std::to_string(times) + " times in a row" : "")};
    });
  }

  Options options_;
  std::map<const std::string*, Stretches> losses_;
  std::map<std::string_view, Metric> metrics_;
};

}  // namespace

BuiltinRule overfit() { return builtin_rule<Overfit>(); }

}  // namespace cupel
