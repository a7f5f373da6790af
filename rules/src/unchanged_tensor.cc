// A tensor stays as it is over its last num_steps saved steps: its value now is close to each of
// the earlier ones, where close is, element by element,
//   a == b, or |a - b| <= atol + rtol * |b|, or, with equal_nan, both are NaN.
//
// Saved means often prove that the tensor changed: they cannot differ by more than the means
// of what each element may. Where raw values are missing at one of the steps, all reductions that
// the steps have in common are compared instead, which is approximate.

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>

#include "builtin_table.h"
#include "closeness.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/tensor_rule.h"
#include "judged_mode.h"
#include "plain_reductions.h"
#include "tensor_selection.h"

namespace cupel::rules_detail {
namespace {

// A saved step of a tensor.
struct Saved {
  std::int64_t number = 0;  // of the mode
  std::int64_t step = 0;    // global
  std::int64_t elements = 0;
  bool has_value = false;
  std::optional<double> mean, abs_mean;
};

Saved saved_of(const RecordView& record) {
  return {record.mode_step(), record.step(),           record.elements(),
          record.has_value(), record.reduction(kMean), record.reduction(kAbsMean)};
}

class UnchangedTensor final : public HistoryRule {
 public:
  struct Options {
    std::vector<std::string> collections;
    PatternList patterns;
    std::int64_t num_steps = 0;
    Tolerance tolerance;
  };

  static RuleDefinition definition() {
    return define_rule<UnchangedTensor>(
        {.name = "UnchangedTensor",
         .summary = "a tensor stays the same over several saved steps",
         .description = R"(
A tensor fires if its value a is close to each value b of the num_steps - 1 saved steps before it,
from the same worker and in the same mode. Two values are close if they have the same shape and, for
every element,

    a == b, or |a - b| <= atol + rtol * |b|, or, with equal_nan=True, both are NaN

The saved steps need not follow one another: a step without the tensor does not count. Nothing fires
until there are num_steps saved steps. Equal infinities are close; by default NaN is not close to
NaN, so that a tensor of NaN never fires. collection_names or tensor_regex selects the tensors; one
of them is required. Text and empty tensors are skipped.

Saved mean and abs_mean often prove a change from the index. Otherwise the rule reads the raw
values, and those of all num_steps steps where nothing has changed. Where a raw value is missing,
the rule compares all reductions that the steps have in common: two or more that agree fire, and the
message contains "approximate".

Typically the rule finds weights that a mistake has frozen. A small learning rate may move weights
by less than rtol between two saved steps: save at a larger interval, or set rtol=0 and atol=0.
)",
         .example = "UnchangedTensor,collection_names=weights,num_steps=5"},
        {option(&Options::collections, collection_names()),
         option(&Options::patterns, tensor_regex()),
         option(&Options::num_steps,
                {.name = "num_steps",
                 .default_text = "3",
                 .range = {.least = 2},
                 .help = "the number of saved steps of a mode that are compared (>= 2)"}),
         option(&Options::tolerance, &Tolerance::relative, relative_tolerance()),
         option(&Options::tolerance, &Tolerance::absolute, absolute_tolerance()),
         option(&Options::tolerance, &Tolerance::equal_nan,
                {.name = "equal_nan", .default_text = "False", .help = "whether NaN equals NaN"})});
  }

  static void check(const Options& /*options*/, const ParameterValues& values,
                    ParameterMistakes& mistakes) {
    require_selection(values, mistakes);
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = selected_tensors(options.collections, options.patterns, false),
              .suffices = {TensorSource::value(), TensorSource::any(2)},
              .steps = {options.num_steps, "num_steps"}}}};
  }

  UnchangedTensor(Trial& base, const Options& options)
      : HistoryRule(base, needs(options)),
        tolerance_(options.tolerance),
        num_steps_(static_cast<std::size_t>(options.num_steps)) {}

 private:
  // By mode.
  using History = std::array<std::deque<Saved>, kAllModes.size()>;

  // The earlier steps of the record's mode.
  std::deque<Saved>& history_of(const RecordView& record) {
    return histories_.of(record)[static_cast<std::size_t>(record.mode()) - 1];
  }

  void forget() override { histories_.clear(); }

  void remember(const RecordView& record) override {
    std::deque<Saved>& history = history_of(record);
    history.push_back(saved_of(record));
    if (history.size() >= num_steps_) history.pop_front();
  }

  void judge_with_history(TensorCopy& copy) override {
    if (!copy.has_numbers()) return;
    const std::deque<Saved>& history = history_of(copy.record());
    if (history.size() + 1 < num_steps_)
      return copy.remembered([&] {
        return JudgementText{"nothing",
                             "saved step " + std::to_string(history.size() + 1) + " of " +
                                 std::to_string(num_steps_),
                             {}};
      });
    const Saved now = saved_of(copy.record());
    if (now.mean) copy.saw(*now.mean);
    if (changed_by_index(copy, now, history)) return;
    const bool all_values =
        now.has_value &&
        std::all_of(history.begin(), history.end(), [](auto& saved) { return saved.has_value; });
    if (all_values)
      judge_values(copy, history);
    else
      judge_reductions(copy, history);
  }

  void changed(TensorCopy& copy, std::string_view read, const Saved& since) const {
    copy.judged(false, 0, 0, [&] {
      return JudgementText{
          std::string(read), "changed since step " + std::to_string(since.step), {}};
    });
  }

  // Whether the index proves that the tensor changed.
  bool changed_by_index(TensorCopy& copy, const Saved& now,
                        const std::deque<Saved>& history) const {
    for (const Saved& before : history) {
      if (before.elements != now.elements) {
        changed(copy, "elements (saved)", before);
        return true;
      }
      if (!now.mean || !before.mean || !before.abs_mean) continue;
      if (means_differ(*now.mean, *before.mean, *before.abs_mean, tolerance_)) {
        changed(copy, "mean, abs_mean (saved)", before);
        return true;
      }
    }
    return false;
  }

  void judge_values(TensorCopy& copy, const std::deque<Saved>& history) const {
    const auto now = copy.value();
    if (!now) return;
    double largest = 0;
    for (const Saved& before : history) {
      const auto earlier = copy.value_at(before.step);
      if (!earlier) return;
      const Closeness between = closeness_of(*now, *earlier, tolerance_);
      if (!between.close) return changed(copy, "elements (from raw)", before);
      largest = std::max(largest, between.largest);
    }
    copy.judged(true, largest, tolerance_.absolute, [&] {
      return JudgementText{
          "elements (from raw)", "unchanged" + over(copy, history),
          "unchanged" + over(copy, history) + ", largest difference " + short_text(largest)};
    });
  }

  void judge_reductions(TensorCopy& copy, const std::deque<Saved>& history) const {
    const Tensor tensor = base_trial().tensor(copy.record().tensor());
    const ReductionValues now = copy.record().reductions();
    copy.saw(now);
    ReductionSet common = now.set;
    std::vector<ReductionValues> earlier;
    for (const Saved& before : history) {
      earlier.push_back(tensor.reduction_values(before.step, Mode::Global, copy.record().worker()));
      common = in_both(common, earlier.back().set);
    }
    double largest = 0;
    for (std::size_t i = 0; i < earlier.size(); ++i) {
      const Closeness between = closeness_of(now, earlier[i], common, tolerance_);
      if (!between.close) return changed(copy, "reductions (saved)", history[i]);
      largest = std::max(largest, between.largest);
    }
    if (common.size() < 2)
      return copy.skip("raw values are missing, and less than two reductions say the same");
    copy.judged(true, largest, tolerance_.absolute, [&] {
      const std::string names = names_of(common);
      return JudgementText{names + " (saved)", "unchanged" + over(copy, history),
                           "unchanged" + over(copy, history) + ", largest difference " +
                               short_text(largest) + ", approximate: of " + names};
    });
  }

  // " in steps 0, 10, 20".
  static std::string over(const TensorCopy& copy, const std::deque<Saved>& history) {
    constexpr std::size_t kNamed = 5;
    std::string text = " in steps ";
    for (std::size_t i = 0; i < history.size(); ++i) {
      if (history.size() > kNamed && i == 2) {
        text += "... ";
        break;
      }
      text += std::to_string(history[i].step) + ", ";
    }
    return text + std::to_string(copy.record().step());
  }

  Tolerance tolerance_;
  std::size_t num_steps_;
  CopyHistories<History> histories_;
};

}  // namespace

RuleDefinition unchanged_tensor() { return UnchangedTensor::definition(); }

}  // namespace cupel::rules_detail
