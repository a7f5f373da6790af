// A loss does not go down: every num_steps steps it is compared with the one num_steps before. It
// must have fallen by diff_percent of that one; where it rose, it must not lie more than
// increase_threshold_percent above the lowest loss that it was compared with so far, so that slow
// growth is found too.

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>

#include "builtin_table.h"
#include "cupel/rules/number_text.h"
#include "judged_mode.h"
#include "loss_rule.h"
#include "tensor_selection.h"

namespace cupel {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"EVAL", "TRAIN", "GLOBAL"};

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
  static constexpr std::string_view kName = "LossNotDecreasing";
  static constexpr std::string_view kSummary = "a loss does not go down";
  static constexpr std::string_view kDescription = R"(
Every num_steps steps or more, a loss L is compared with P, the latest one saved at least num_steps
steps before:

    L <= P:  100 * (P - L) / |P| < diff_percent fires
    L > P:   100 * (L - B) / |B| > increase_threshold_percent fires
    L is NaN or infinite: fires

where B is the lowest loss that was compared with so far: slow growth that no two checks would show
is found. All comparisons are strict. Beside the collection losses, tensors of collection_names and
tensor_regex are losses; of what is no scalar the mean counts, and of several workers theirs.

Steps are counted in the mode: each loss is judged in the first of EVAL, TRAIN and all steps that it
was saved in so far, or in the one that mode says. Steps of another mode, and those before a check
is due, are noted and not judged. A loss that stays 0 is fine. Where no mean, sum or value was saved
the copy is skipped.

Losses are scalars, which the index holds: the rule opens no file of values. A loss of single
batches is noisy: take num_steps so large that training has to show, or watch the loss of EVAL.
)";
  static constexpr std::string_view kExample = "LossNotDecreasing,num_steps=100,diff_percent=1";
  static constexpr std::array kParameters = {
      kCollectionNames,
      kTensorRegex,
      ParameterInfo{"use_losses_collection", "bool", "True",
                    "whether the collection losses is looked at, beside those"},
      ParameterInfo{"num_steps", "int", "10", "how many steps lie between two checks (>= 1)"},
      ParameterInfo{"diff_percent", "float", "0.1",
                    "fires when a loss fell by less than so many percent (> 0, < 100)"},
      ParameterInfo{"increase_threshold_percent", "float", "5",
                    "fires when it rose to so many percent above the lowest (> 0, < 100)"},
      ParameterInfo{"mode", "text", "",
                    "EVAL, TRAIN or GLOBAL (all steps); default: the first that a loss has"}};
  struct Options {
    NeededTensors tensors = {.collections = {"losses"}};
    std::int64_t num_steps = 10;
    double least_decrease = 0.1;
    double most_increase = 5;
    std::vector<Mode> modes = {Mode::Eval, Mode::Train, Mode::Global};
  };

  static Options read(ParameterReader& reader) {
    constexpr NumberRange kPercent{0, 100, true, true};
    Options options;
    const std::size_t mistakes = reader.mistakes();
    options.tensors = read_selection(reader);
    options.tensors.all_if_none = false;
    if (reader.boolean("use_losses_collection")) {
      auto& collections = options.tensors.collections;
      if (std::find(collections.begin(), collections.end(), "losses") == collections.end())
        collections.emplace_back("losses");
    } else if (options.tensors.collections.empty() && options.tensors.patterns.texts().empty() &&
               reader.mistakes() == mistakes) {
      reader.lacks(
          "which losses to look at is not given; collection_names or tensor_regex says it, or "
          "use_losses_collection=True");
    }
    if (options.tensors.collections == std::vector<std::string>{"losses"} &&
        options.tensors.patterns.empty())
      options.tensors.parameters = {"use_losses_collection"};
    options.num_steps = reader.integer("num_steps", 1);
    options.least_decrease = reader.number("diff_percent", kPercent);
    options.most_increase = reader.number("increase_threshold_percent", kPercent);
    if (const std::string mode = reader.choice("mode", kModes); !mode.empty())
      options.modes = {parse_mode(mode)};
    return options;
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = options.tensors,
              .suffices = sources_of({ReductionOp::Mean, false}),
              .modes = options.modes,
              .modes_by_tensor = true,
              .steps = {2, ""},
              .at_least_apart = NeededNumber{options.num_steps, "num_steps"}}}};
  }

  LossNotDecreasing(Trial& base, const Options& options)
      : LossRule(base, kName, needs(options)), options_(options) {}

 private:
  using SeriesByMode = std::map<Mode, Series>;

  void forget() override { losses_.clear(); }

  void take(const Loss& loss, Verdict* verdict) override {
    SeriesByMode& all = losses_[loss.tensor];
    all[Mode::Global].add({loss.step, loss.value}, options_.num_steps);
    if (loss.mode != Mode::Global)
      all[loss.mode].add({loss.mode_step, loss.value}, options_.num_steps);
    const Mode judged_mode = choose(all);
    if (!is_judged(loss.mode, judged_mode)) {
      noted(verdict, loss, "not a step of " + std::string(to_string(judged_mode)));
      return;
    }
    check(loss, judged_mode, all[judged_mode], verdict);
  }

  Mode choose(const SeriesByMode& all) const {
    for (const Mode mode : options_.modes)
      if (options_.modes.size() == 1 || all.contains(mode)) return mode;
    return Mode::Global;
  }

  void check(const Loss& loss, Mode mode, Series& series, Verdict* verdict) const {
    const auto before = series.partner(options_.num_steps);
    if (!before) return noted(verdict, loss, "no check is due");
    series.last_check = series.points.back().number;
    if (before->loss < series.best) series.best = before->loss;
    if (verdict == nullptr) return;

    const auto since = [&] {
      return ", from " + short_text(before->loss) + " at " + step_text(before->number, mode);
    };
    const std::string now = " to " + short_text(loss.value);
    if (!std::isfinite(loss.value)) {
      judged(*verdict, loss, true, loss.value, options_.least_decrease, [&] {
        return Words{{}, "not finite", "the loss is " + short_text(loss.value) + since()};
      });
    } else if (loss.value <= before->loss) {
      const double decrease = 100 * (before->loss - loss.value) / percentage_base(before->loss);
      const bool fired = decrease < options_.least_decrease && before->loss != 0;
      judged(*verdict, loss, fired, decrease, options_.least_decrease, [&] {
        const std::string compared = comparison_text(decrease, "<", options_.least_decrease);
        return Words{{}, "decrease " + compared, "decrease in percent " + compared + since() + now};
      });
    } else {
      const double increase = 100 * (loss.value - series.best) / percentage_base(series.best);
      judged(*verdict, loss, increase > options_.most_increase, increase, options_.most_increase,
             [&] {
               const std::string compared = comparison_text(increase, ">", options_.most_increase);
               return Words{{},
                            "increase " + compared,
                            "increase in percent " + compared + ", from the lowest, " +
                                short_text(series.best) + "," + now};
             });
    }
  }

  Options options_;
  std::map<const std::string*, SeriesByMode> losses_;
};

}  // namespace

BuiltinRule loss_not_decreasing() { return builtin_rule<LossNotDecreasing>(); }

}  // namespace cupel
