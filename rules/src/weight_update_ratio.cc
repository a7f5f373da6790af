// Weights change too much or too little between two saved steps: ratio = |W - P| / (|P| + epsilon),
// where P is the weights at an earlier step and |.| the Euclidean norm of all elements.
//
// Where the norms of both were saved, they bound the ratio from both sides, and often that is
// enough:
//   | |W| - |P| | <= |W - P| <= |W| + |P|

#include <array>
#include <cmath>
#include <deque>
#include <optional>

#include "builtin_table.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "elements.h"
#include "euclidean_norm.h"
#include "judged_mode.h"
#include "plain_reductions.h"

namespace cupel::rules_detail {
namespace {

// A saved norm is right to about 1e-15; bounds must stay true though it was rounded.
constexpr double kRounding = 1e-13;

// A saved step of the weights.
struct SavedWeight {
  std::int64_t number = 0;  // of the judged mode
  std::int64_t step = 0;    // global
  bool has_value = false;
  std::optional<double> l2;
  std::int64_t elements = 0;
};

SavedWeight saved_of(const RecordView& record, Mode judged) {
  SavedWeight saved{number_in(record, judged), record.step(), record.has_value(), std::nullopt,
                    record.elements()};
  if (const auto l2 = saved_number(record, kL2)) saved.l2 = l2->value;
  return saved;
}

class WeightUpdateRatio final : public HistoryRule {
 public:
  struct Options {
    std::optional<std::int64_t> num_steps;
    double large = 0;
    double small = 0;
    double epsilon = 0;
  };

  static RuleDefinition definition() {
    return define_rule<WeightUpdateRatio>(
        {.name = "WeightUpdateRatio",
         .summary = "weights change too much or too little",
         .description = R"(
The rule compares weights W with P, the same weights at an earlier step, from the same worker:

    ratio = |W - P| / (|P| + epsilon)
    ratio > large_threshold, or ratio < small_threshold, fires

|.| is the Euclidean norm of all elements; both comparisons are strict. Without num_steps, P is the
value that was saved last before W. With num_steps, P is the earliest value that was saved at most
num_steps steps before W. The steps are those of TRAIN if the run has any, counted in that mode,
else all steps.

The first saved step has nothing to be compared with and never fires. A step without P within
num_steps, or with a P of another shape, is skipped. Weights that do not change at all have ratio 0
and fire. NaN never fires. A step that was saved without a raw value is no P for a step that has
one.

Saved norms l2 of both steps bound the ratio from both sides, and often that is enough; otherwise
the rule reads both raw values. Weights with l2, saved every num_steps steps, feed the rule.
)",
         .example = "WeightUpdateRatio,num_steps=100,large_threshold=0.5"},
        {option(&Options::num_steps,
                {.name = "num_steps",
                 .range = {.least = 1},
                 .help =
                     "compare with the earliest weights saved at most so many steps before (>= 1); "
                     "default: with the latest saved before"}),
         option(&Options::large, {.name = "large_threshold",
                                  .default_text = "10.0",
                                  .range = {.least = 0},
                                  .help = "fires when the ratio is above this (>= 0)"}),
         option(&Options::small, {.name = "small_threshold",
                                  .default_text = "1e-8",
                                  .range = {.least = 0},
                                  .help = "fires when the ratio is below this (>= 0)"}),
         option(&Options::epsilon, {.name = "epsilon",
                                    .default_text = "1e-9",
                                    .range = {.least = 0, .open_below = true},
                                    .help = "added to the norm of the earlier weights (> 0)"})});
  }

  static RuleNeeds needs(const Options& options) {
    TensorNeed need{.tensors = {.collections = {"weights"}},
                    .suffices = {TensorSource::value()},
                    .spares = {TensorSource::of({kL2})},
                    .modes = {Mode::Train, Mode::Global},
                    .steps = {2, ""}};
    if (options.num_steps) need.at_least_every = NeededNumber{*options.num_steps, "num_steps"};
    return {{std::move(need)}};
  }

  WeightUpdateRatio(Trial& base, const Options& options)
      : HistoryRule(base, needs(options)), options_(options) {}

 private:
  using History = std::deque<SavedWeight>;

  void forget() override { histories_.clear(); }

  void remember(const RecordView& record) override {
    if (record.dtype() == DType::Utf8) return;  // no numbers to be compared with
    const SavedWeight now = saved_of(record, judged());
    if (!now.has_value && !now.l2) return;
    History& history = histories_.of(record);
    while (!history.empty() && history.back().number >= now.number) history.pop_back();
    history.push_back(now);
    if (options_.num_steps) {
      while (history.front().number < now.number - *options_.num_steps) history.pop_front();
    } else {
      // All that is needed is the last step of either kind.
      const auto is_covered = [&](const SavedWeight& saved) {
        return saved.number < now.number && (now.has_value || !saved.has_value) &&
               (now.l2 || !saved.l2);
      };
      std::erase_if(history, is_covered);
    }
  }

  // The step to compare with, of those that `suits(saved)`.
  template <class F>
  const SavedWeight* partner(const History& history, std::int64_t number, F&& suits) const {
    if (!options_.num_steps) {
      for (auto saved = history.rbegin(); saved != history.rend(); ++saved)
        if (saved->number < number && suits(*saved)) return &*saved;
      return nullptr;
    }
    for (const SavedWeight& saved : history)
      if (saved.number >= number - *options_.num_steps && saved.number < number && suits(saved))
        return &saved;
    return nullptr;
  }

  void judge_with_history(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const History& history = histories_.of(copy.record());
    const SavedWeight now = saved_of(copy.record(), judged());
    if (now.l2) copy.saw(*now.l2);
    if (!now.has_value && !now.l2) return copy.skip("neither the raw value nor l2 was saved");
    const SavedWeight* before = partner(history, now.number, [&](const SavedWeight& saved) {
      return now.has_value ? saved.has_value : saved.l2.has_value();
    });
    if (before == nullptr) return without_partner(copy, history, now);
    if (before->elements != now.elements)
      return copy.skip("its shape is not the one of " + step_text(before->number, judged()));
    if (judge_norms(copy, now, *before)) return;
    if (!now.has_value)
      return copy.skip("the raw value was not saved, and l2 leaves the ratio open");
    judge_values(copy, *before);
  }

  void without_partner(TensorCopy& copy, const History& history, const SavedWeight& now) const {
    if (history.empty())
      return copy.remembered([] { return JudgementText{"nothing", "the first saved step", {}}; });
    std::string where = "before " + step_text(now.number, judged());
    if (options_.num_steps)
      where = "in the " + std::to_string(*options_.num_steps) + " steps " + where;
    copy.skip("nothing to compare with was saved " + where);
  }

  bool has_other_shape(const TensorCopy& copy, const SavedWeight& before) const {
    const Tensor tensor = base_trial().tensor(copy.record().tensor());
    return tensor.record(before.step, Mode::Global, copy.record().worker()).shape !=
           copy.record().record().shape;
  }

  // Returns whether the norms in the index are enough.
  bool judge_norms(TensorCopy& copy, const SavedWeight& now, const SavedWeight& before) const {
    if (!now.l2 || !before.l2) return false;
    const double denominator = *before.l2 + options_.epsilon;
    const double rounding = kRounding * (*now.l2 + *before.l2);
    const double least = (std::abs(*now.l2 - *before.l2) - rounding) / denominator;
    const double most = (*now.l2 + *before.l2 + rounding) / denominator;
    const bool fired = least > options_.large && std::isfinite(least);
    if (!fired && !(least >= options_.small && most <= options_.large)) return false;
    if (fired && has_other_shape(copy, before)) {
      copy.skip("its shape is not the one of " + step_text(before.number, judged()));
      return true;
    }
    copy.judged(fired, least, options_.large, [&] {
      const std::string compared = fired ? comparison_text(least, ">", options_.large)
                                         : short_text(options_.small) + " <= " + short_text(least) +
                                               " ... " + short_text(most) +
                                               " <= " + short_text(options_.large);
      return JudgementText{"l2 (saved), bounds of the ratio", compared,
                           "update ratio at least " + compared + since(before)};
    });
    return true;
  }

  void judge_values(TensorCopy& copy, const SavedWeight& before) const {
    const auto now = copy.value();
    if (!now) return;
    const auto earlier = copy.value_at(before.step);
    if (!earlier) return;
    if (now->shape() != earlier->shape())
      return copy.skip("its shape is not the one of " + step_text(before.number, judged()));
    EuclideanNorm change;
    EuclideanNorm base;
    for_each_span(*now, *earlier, [&](std::span<const double> a, std::span<const double> b) {
      std::array<double, kElementsAtOnce> difference;
      for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
      change.add({difference.data(), a.size()});
      base.add(b);
      return true;
    });
    const double ratio = change.value() / (base.value() + options_.epsilon);
    const bool large = ratio > options_.large;
    const bool small = ratio < options_.small;
    copy.judged(large || small, ratio, small ? options_.small : options_.large, [&] {
      std::string compared;
      if (!small) compared = comparison_text(ratio, ">", options_.large);
      if (!large)
        compared += (compared.empty() ? "" : ", ") + comparison_text(ratio, "<", options_.small);
      return JudgementText{"the change (from raw)", compared,
                           "update ratio " + compared + since(before)};
    });
  }

  std::string since(const SavedWeight& before) const {
    return " since " + step_text(before.number, judged());
  }

  Options options_;
  CopyHistories<History> histories_;
};

}  // namespace

RuleDefinition weight_update_ratio() { return WeightUpdateRatio::definition(); }

}  // namespace cupel::rules_detail
