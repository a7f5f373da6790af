// A loss has stopped to improve: so many of its saved values in a row, counted for training and for
// validation by themselves, did not fall below the lowest by more than delta.
//
// In a run with EVAL steps the modes tell the two apart; in one without, names such as train-rmse
// and validation-rmse do, and any other loss counts as training. Which of the two a run is can
// change when its first EVAL step comes, so all of it is followed.

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "judged_mode.h"
#include "loss_rule.h"
#include "validation_losses.h"

namespace cupel {
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
  static constexpr std::string_view kName = "Overtraining";
  static constexpr std::string_view kSummary = "a loss has stopped to improve";
  static constexpr std::string_view kDescription = R"(
Counts how many saved values of a loss in a row have not improved:

    lowest - L > delta is an improvement: L becomes the lowest, the count 0
    anything else adds one; a count >= patience fires

An improvement by exactly delta is none, and neither is a value that is NaN or infinite. The first
value is the first lowest. delta is absolute: it is in the unit of the loss.

Values of TRAIN and of EVAL are counted by themselves, with patience_train and patience_validation.
In a run without EVAL steps names tell the two apart, as XGBoost gives them: validation-rmse,
eval-rmse, val-rmse and test-rmse are validation, every other loss is training, in all steps as one
series; auc, map and other metrics that grow are left out. Of what is no scalar the mean counts, and
of several workers theirs.

Losses are scalars, which the index holds: the rule opens no file of values. Patience counts saved
values, not steps: losses of single batches seldom beat the lowest, so choose it by how often they
are saved.
)";
  static constexpr std::string_view kExample =
      "Overtraining,patience_train=20,patience_validation=20,delta=0.001";
  static constexpr std::array kParameters = {
      kLossRegex,
      ParameterInfo{"patience_train", "int", "5",
                    "fires at so many training losses in a row without improvement (>= 1)"},
      ParameterInfo{"patience_validation", "int", "10", "the same of validation losses (>= 1)"},
      ParameterInfo{"delta", "float", "0.01",
                    "an improvement is below the lowest loss by more than this (>= 0)"}};
  struct Options {
    NeededTensors losses = losses_collection();
    std::int64_t patience_train = 5;
    std::int64_t patience_validation = 10;
    double delta = 0.01;
  };

  static Options read(ParameterReader& reader) {
    return {.losses = read_losses(reader),
            .patience_train = reader.integer("patience_train", 1),
            .patience_validation = reader.integer("patience_validation", 1),
            .delta = reader.number("delta", 0, std::numeric_limits<double>::max())};
  }

  static RuleNeeds needs(const Options& options) {
    // The first loss is the lowest so far.
    return {{{.tensors = options.losses,
              .suffices = sources_of({ReductionOp::Mean, false}),
              .steps = one_more(options.patience_train, "patience_train"),
              .steps_of_mode = {
                  {Mode::Eval, one_more(options.patience_validation, "patience_validation")}}}}};
  }

  Overtraining(Trial& base, const Options& options)
      : LossRule(base, kName, needs(options)), options_(options) {}

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
        return noted(verdict, loss, kNotOfThisMode);
      return judge(loss, all[loss.mode], loss.mode, loss.mode == Mode::Eval, *verdict);
    }
    const LossName name = loss_name(*loss.tensor);
    if (name.kind == LossName::Kind::Growing) return noted(verdict, loss, "a metric that grows");
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
      return Words{{}, compared, message + ", now " + short_text(loss.value)};
    });
  }

  Options options_;
  std::map<const std::string*, SeriesByMode> losses_;
};

}  // namespace

BuiltinRule overtraining() { return builtin_rule<Overtraining>(); }

}  // namespace cupel
