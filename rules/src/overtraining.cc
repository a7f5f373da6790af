// A loss has stopped to improve: `patience` saved values in a row, counted separately for training
// and validation, did not fall below the lowest one by more than delta.
//
// In a run with EVAL steps, modes distinguish the two; in a run without, names such as train-rmse
// and validation-rmse do, and any other loss counts as training. A run changes its kind when its
// first EVAL step comes, so both kinds of series are kept.

#include <cmath>
#include <limits>
#include <map>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/loss_rule.h"
#include "cupel/rules/option_parameter.h"
#include "judged_mode.h"
#include "validation_losses.h"

namespace cupel::rules_detail {
namespace {

// One loss, over the steps of one mode.
struct Series {
  double best = std::numeric_limits<double>::infinity();
  std::int64_t best_at = 0;
  std::int64_t wait = 0;  // so many values since

  void add(double value, std::int64_t number, double delta) noexcept {
    if (std::isfinite(value) && best - value > delta) {
      best = value;
      best_at = number;
      wait = 0;
    } else {
      ++wait;
    }
  }
};

class Overtraining final : public LossRule {
 public:
  struct Options {
    PatternList patterns;
    std::int64_t patience_train = 0;
    std::int64_t patience_validation = 0;
    double delta = 0;
  };

  static RuleDefinition definition() {
    return define_rule<Overtraining>(
        {.name = "Overtraining",
         .summary = "a loss has stopped to improve",
         .description = R"(
The rule counts how many saved values of a loss in a row have not improved:

    lowest - L > delta is an improvement: L becomes the lowest, the count 0
    anything else adds one; a count >= patience fires

A decrease by exactly delta is no improvement, and neither is a value that is NaN or infinite. The
first value is the first lowest one. delta is absolute: it is in the unit of the loss.

Values of TRAIN and of EVAL are counted separately, with patience_train and patience_validation. In
a run without EVAL steps, names distinguish the two, as XGBoost names them: validation-rmse,
eval-rmse, val-rmse and test-rmse are validation, every other loss is training, and all steps are
one series. auc, map and other metrics that grow are left out. A loss that is no scalar counts by
its mean, and several workers count by their mean.

Losses are scalars, which are in the index: the rule opens no file of values. Patience counts saved
values, not steps. Losses of single batches seldom beat the lowest one, so choose patience by how
often losses are saved.
)",
         .example = "Overtraining,patience_train=20,patience_validation=20,delta=0.001"},
        {option(&Options::patterns, loss_regex()),
         option(&Options::patience_train,
                {.name = "patience_train",
                 .default_text = "5",
                 .range = {.least = 1},
                 .help = "fires at so many training losses in a row without improvement (>= 1)"}),
         option(&Options::patience_validation,
                {.name = "patience_validation",
                 .default_text = "10",
                 .range = {.least = 1},
                 .help = "fires at so many validation losses in a row without improvement (>= 1)"}),
         option(&Options::delta,
                {.name = "delta",
                 .default_text = "0.01",
                 .range = {.least = 0},
                 .help = "an improvement is below the lowest loss by more than this (>= 0)"})});
  }

  static RuleNeeds needs(const Options& options) {
    // The first loss is the lowest so far.
    return {{{.tensors = losses_of(options.patterns),
              .suffices = sources_of({ReductionOp::Mean, false}),
              .steps = one_more(options.patience_train, "patience_train"),
              .steps_of_mode = {
                  {Mode::Eval, one_more(options.patience_validation, "patience_validation")}}}}};
  }

  Overtraining(Trial& base, const Options& options)
      : LossRule(base, needs(options)), options_(options) {}

 private:
  using SeriesByMode = std::map<Mode, Series>;  // Global: all steps

  void forget() override { losses_.clear(); }

  void take(const Loss& loss, Verdict* verdict) override {
    SeriesByMode& all = losses_[loss.tensor];
    all[Mode::Global].add(loss.value, loss.step, options_.delta);
    if (loss.mode != Mode::Global) all[loss.mode].add(loss.value, loss.mode_step, options_.delta);
    if (verdict == nullptr) return;
    if (has_evaluation(base_trial())) {
      if (loss.mode != Mode::Train && loss.mode != Mode::Eval)
        return remembered(verdict, loss, kNotOfThisMode);
      return judge(loss, all[loss.mode], loss.mode, loss.mode == Mode::Eval, *verdict);
    }
    const LossName name = loss_name(*loss.tensor);
    if (name.kind == LossName::Kind::Growing)
      return remembered(verdict, loss, "a metric that grows");
    judge(loss, all[Mode::Global], Mode::Global, name.kind == LossName::Kind::Validation, *verdict);
  }

  void judge(const Loss& loss, const Series& series, Mode mode, bool validation,
             Verdict& verdict) const {
    const std::int64_t patience =
        validation ? options_.patience_validation : options_.patience_train;
    const auto wait = static_cast<double>(series.wait);
    const auto most = static_cast<double>(patience);
    judged(verdict, loss, series.wait >= patience, wait, most, [&] {
      const std::string compared = comparison_text(wait, ">=", most);
      std::string message = std::string(validation ? "validation" : "training") +
                            " losses without improvement " + compared;
      if (std::isfinite(series.best))
        message += ", lowest " + short_text(series.best) + " at " + step_text(series.best_at, mode);
      return JudgementText{{}, compared, message + ", now " + short_text(loss.value)};
    });
  }

  Options options_;
  std::map<const std::string*, SeriesByMode> losses_;
};

}  // namespace

RuleDefinition overtraining() { return Overtraining::definition(); }

}  // namespace cupel::rules_detail
