// A loss does not go down: every num_steps steps it is compared with the one num_steps before. It
// must have fallen by diff_percent of that one; where it rose, it must not lie more than
// increase_threshold_percent above the lowest loss that it was compared with so far, so that slow
// growth is found too.

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/loss_rule.h"
#include "cupel/rules/option_parameter.h"
#include "judged_mode.h"
#include "tensor_selection.h"
#include "validation_losses.h"

namespace cupel::rules_detail {
namespace {

// One loss over the steps of one mode.
struct Series {
  struct Point {
    std::int64_t number = 0;
    double loss = 0;
  };
  std::deque<Point> points;  // those that are still to be compared with
  std::optional<std::int64_t> last_check;
  double best = std::numeric_limits<double>::infinity();

  // Adds a step, and drops what no later one will be compared with.
  void add(Point point, std::int64_t num_steps) {
    while (!points.empty() && points.back().number >= point.number) points.pop_back();
    points.push_back(point);
    while (points.size() > 1 && points[1].number <= point.number - num_steps) points.pop_front();
  }
  // What the newest step is compared with, if it is time.
  std::optional<Point> partner(std::int64_t num_steps) const {
    const std::int64_t now = points.back().number;
    if (points.front().number > now - num_steps) return std::nullopt;
    if (last_check && now - *last_check < num_steps) return std::nullopt;
    return points.front();
  }
};

class LossNotDecreasing final : public LossRule {
 public:
  struct Options {
    std::vector<std::string> collections;
    PatternList patterns;
    bool use_losses_collection = false;
    std::int64_t num_steps = 0;
    double least_decrease = 0;
    double most_increase = 0;
    std::optional<Mode> mode;
  };

  static RuleDefinition definition() {
    return define_rule<LossNotDecreasing>(
        {.name = "LossNotDecreasing",
         .summary = "a loss does not go down",
         .description = R"(
Every num_steps steps or more, the rule compares a loss L with P, the latest loss that was saved at
least num_steps steps before:

    L <= P:  100 * (P - L) / |P| < diff_percent fires
    L > P:   100 * (L - B) / |B| > increase_threshold_percent fires
    L is NaN or infinite: fires

B is the lowest loss that was compared with so far, so that slow growth is found which no two
comparisons would show. All comparisons are strict. The tensors of collection_names and tensor_regex
are losses beside those of the collection losses. A loss that is no scalar counts by its mean, and
several workers count by their mean.

Steps are counted in the mode. The rule judges each loss in the first of EVAL, TRAIN and all steps
that the loss was saved in so far, or in the mode that the parameter mode names. Losses of other
modes, and those before a comparison is due, are not judged. A loss that stays 0 is fine. A copy is
skipped where no mean, sum or value was saved.

Losses are scalars, which are in the index: the rule opens no file of values. A loss of single
batches is noisy: choose num_steps so large that training must show, or watch the loss of EVAL.
)",
         .example = "LossNotDecreasing,num_steps=100,diff_percent=1"},
        {option(&Options::collections, collection_names()),
         option(&Options::patterns, tensor_regex()),
         option(&Options::use_losses_collection,
                {.name = "use_losses_collection",
                 .default_text = "True",
                 .help = "whether the collection losses is watched beside those"}),
         option(&Options::num_steps,
                {.name = "num_steps",
                 .default_text = "10",
                 .range = {.least = 1},
                 .help = "the number of steps between two comparisons (>= 1)"}),
         option(&Options::least_decrease,
                {.name = "diff_percent",
                 .default_text = "0.1",
                 .range = {.least = 0, .most = 100, .open_below = true, .open_above = true},
                 .help = "fires when a loss fell by less than so many percent (> 0, < 100)"}),
         option(
             &Options::most_increase,
             {.name = "increase_threshold_percent",
              .default_text = "5",
              .range = {.least = 0, .most = 100, .open_below = true, .open_above = true},
              .help = "fires when a loss rose to so many percent above the lowest (> 0, < 100)"}),
         option<std::string, Options>(
             {.name = "mode",
              .choices = {"EVAL", "TRAIN", "GLOBAL"},
              .help = "EVAL, TRAIN or GLOBAL (all steps); default: the first that a loss has"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.mode = parse_mode(value);
             })});
  }

  static void check(const Options& options, const ParameterValues& values,
                    ParameterMistakes& mistakes) {
    if (values.find("use_losses_collection") != nullptr && !options.use_losses_collection)
      require_selection(values, mistakes,
                        "which losses to judge is not given: give collection_names, tensor_regex "
                        "or use_losses_collection=True");
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = losses_to_watch(options),
              .suffices = sources_of({ReductionOp::Mean, false}),
              .modes = modes_of(options),
              .modes_by_tensor = true,
              .steps = {2, ""},
              .at_least_apart = NeededNumber{options.num_steps, "num_steps"}}}};
  }

  LossNotDecreasing(Trial& base, const Options& options)
      : LossRule(base, needs(options)), options_(options), modes_(modes_of(options)) {}

 private:
  static NeededTensors losses_to_watch(const Options& options) {
    NeededTensors losses = selected_tensors(options.collections, options.patterns, false);
    auto& collections = losses.collections;
    if (options.use_losses_collection && std::ranges::count(collections, "losses") == 0)
      collections.emplace_back("losses");
    if (collections == std::vector<std::string>{"losses"} && options.patterns.empty())
      losses.parameters = {"use_losses_collection"};
    return losses;
  }

  // A loss is judged in the first of these that it has.
  static std::vector<Mode> modes_of(const Options& options) {
    if (options.mode) return {*options.mode};
    return {Mode::Eval, Mode::Train, Mode::Global};
  }

  using SeriesByMode = std::map<Mode, Series>;

  void forget() override { losses_.clear(); }

  void take(const Loss& loss, Verdict* verdict) override {
    SeriesByMode& all = losses_[loss.tensor];
    all[Mode::Global].add({loss.step, loss.value}, options_.num_steps);
    if (loss.mode != Mode::Global)
      all[loss.mode].add({loss.mode_step, loss.value}, options_.num_steps);
    const Mode judged_mode = choose(all);
    if (!is_judged(loss.mode, judged_mode)) {
      remembered(verdict, loss, "not a step of " + std::string(to_string(judged_mode)));
      return;
    }
    check(loss, judged_mode, all[judged_mode], verdict);
  }

  Mode choose(const SeriesByMode& all) const {
    for (const Mode mode : modes_)
      if (modes_.size() == 1 || all.contains(mode)) return mode;
    return Mode::Global;
  }

  void check(const Loss& loss, Mode mode, Series& series, Verdict* verdict) const {
    const auto before = series.partner(options_.num_steps);
    if (!before) return remembered(verdict, loss, "no check is due");
    series.last_check = series.points.back().number;
    if (before->loss < series.best) series.best = before->loss;
    if (verdict == nullptr) return;

    const auto since = [&] {
      return ", from " + short_text(before->loss) + " at " + step_text(before->number, mode);
    };
    const std::string now = " to " + short_text(loss.value);
    if (!std::isfinite(loss.value)) {
      judged(*verdict, loss, true, loss.value, options_.least_decrease, [&] {
        return JudgementText{{}, "not finite", "the loss is " + short_text(loss.value) + since()};
      });
    } else if (loss.value <= before->loss) {
      const double decrease = 100 * (before->loss - loss.value) / percentage_base(before->loss);
      const bool fired = decrease < options_.least_decrease && before->loss != 0;
      judged(*verdict, loss, fired, decrease, options_.least_decrease, [&] {
        const std::string compared = comparison_text(decrease, "<", options_.least_decrease);
        return JudgementText{
            {}, "decrease " + compared, "decrease in percent " + compared + since() + now};
      });
    } else {
      const double increase = 100 * (loss.value - series.best) / percentage_base(series.best);
      judged(*verdict, loss, increase > options_.most_increase, increase, options_.most_increase,
             [&] {
               const std::string compared = comparison_text(increase, ">", options_.most_increase);
               return JudgementText{{},
                                    "increase " + compared,
                                    "increase in percent " + compared + ", from the lowest, " +
                                        short_text(series.best) + "," + now};
             });
    }
  }

  Options options_;
  std::vector<Mode> modes_;
  std::map<const std::string*, SeriesByMode> losses_;
};

}  // namespace

RuleDefinition loss_not_decreasing() { return LossNotDecreasing::definition(); }

}  // namespace cupel::rules_detail
