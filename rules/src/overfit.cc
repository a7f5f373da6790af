// Losses on validation data rise above those on training data:
//   ratio = (validation - training) / |training| > ratio_threshold, `patience` times in a row.
//
// In a run with EVAL steps both are means of the same loss: over the current stretch of EVAL steps,
// and over the latest stretch of TRAIN steps. In a run without, losses are paired by their names at
// one step: train-rmse with validation-rmse, eval-rmse, val-rmse and test-rmse. A run
// changes its kind when its first EVAL step comes, so both kinds are kept.

#include <cmath>
#include <map>
#include <optional>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/loss_rule.h"
#include "cupel/rules/option_parameter.h"
#include "validation_losses.h"

namespace cupel::rules_detail {
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
  struct Options {
    PatternList patterns;
    std::int64_t start_step = 0;
    std::int64_t patience = 0;
    double ratio = 0;
  };

  static RuleDefinition definition() {
    return define_rule<Overfit>(
        {.name = "Overfit",
         .summary = "losses of validation rise above those of training",
         .description = R"(
The rule compares validation with training, loss by loss:

    ratio = (validation - training) / |training| > ratio_threshold

patience times in a row fires, and fires again at each further time; a ratio that is not above the
threshold starts the count over. A ratio of exactly the threshold is not above it.

In a run with EVAL steps, validation is the mean of a loss over the current stretch of EVAL steps,
and training is its mean over the latest stretch of TRAIN steps. Every EVAL step counts once. In a
run without EVAL steps, losses of one step are paired by their names, as XGBoost names them:
train-rmse with validation-rmse, eval-rmse, val-rmse or test-rmse. auc, map and other metrics that
grow are left out.

A loss that is no scalar counts by its mean, and several workers count by their mean. Losses that
are not finite are not counted, steps before start_step are ignored, and a training loss of 0 is
replaced by 1e-12. Losses are scalars, which are in the index: the rule opens no file of values.
Save losses at every step of EVAL and often in TRAIN. Means of few steps are noisy; a larger
patience helps.
)",
         .example = "Overfit,patience=3,ratio_threshold=0.2"},
        {option(&Options::patterns, loss_regex()),
         option(&Options::start_step, {.name = "start_step",
                                       .default_text = "0",
                                       .range = {.least = 0},
                                       .help = "global steps before this one are ignored"}),
         option(&Options::patience,
                {.name = "patience",
                 .default_text = "1",
                 .range = {.least = 1},
                 .help = "fires when the ratio is too large so many times in a row (>= 1)"}),
         option(&Options::ratio,
                {.name = "ratio_threshold",
                 .default_text = "0.1",
                 .help = "fires when validation is above training by more than so much of it"})});
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = losses_of(options.patterns),
              .suffices = sources_of({ReductionOp::Mean, false}),
              .each_of = {Mode::Train, Mode::Eval},
              .or_pairs_of_names = true,
              .times = {.of_mode = {{Mode::Train, {.save_interval = 100}},
                                    {Mode::Eval, {.save_interval = 10}}}}}}};
  }

  Overfit(Trial& base, const Options& options)
      : LossRule(base, needs(options)), options_(options) {}

 private:
  void forget() override {
    losses_.clear();
    metrics_.clear();
  }

  void take(const Loss& loss, Verdict* verdict) override {
    if (loss.step < options_.start_step) return remembered(verdict, loss, "before start_step");
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
      return remembered(verdict, loss, kNotOfThisMode);
    Stretches& of = losses_[loss.tensor];
    RunningMean& mean = of.enter(loss.mode);
    if (!std::isfinite(loss.value)) return remembered(verdict, loss, "not finite");
    mean.add(loss.value);
    if (loss.mode == Mode::Train) return remembered(verdict, loss, "a step of TRAIN");
    if (of.training.count == 0)
      return remembered(verdict, loss, "no loss of TRAIN to compare with");
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
        return remembered(verdict, loss, "of training, for losses of validation");
      }
      case LossName::Kind::Validation: {
        Metric& metric = metrics_[name.metric];
        Metric::Validation& validation = metric.validations[*loss.tensor];
        validation.loss = loss;
        if (compare_pair(metric, validation, verdict)) return;
        return remembered(verdict, loss, "waits for a loss of training at this step");
      }
      case LossName::Kind::Growing:
        return remembered(verdict, loss, "a metric that grows");
      case LossName::Kind::Other:
        return remembered(verdict, loss, "no EVAL step, and no name of a pair");
    }
  }

  // When the second of the two has come; whether it has.
  bool compare_pair(const Metric& metric, Metric::Validation& validation, Verdict* verdict) const {
    if (!metric.training || metric.training->step != validation.loss->step) return false;
    const double above = validation.loss->value;
    const double base = metric.training->value;
    if (!std::isfinite(above) || !std::isfinite(base))
      remembered(verdict, *validation.loss, "not finite");
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
      return JudgementText{{},
                           compared + (above && times < options_.patience ? so_far : ""),
                           "ratio " + compared + ", validation " + short_text(validation) +
                               ", training " + short_text(training) +
                               (times > 1 ? ", " + std::to_string(times) + " times in a row" : "")};
    });
  }

  Options options_;
  std::map<const std::string*, Stretches> losses_;
  std::map<std::string_view, Metric> metrics_;
};

}  // namespace

RuleDefinition overfit() { return Overfit::definition(); }

}  // namespace cupel::rules_detail
