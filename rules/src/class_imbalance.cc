// Some classes are much rarer than others, or are mostly predicted wrong. Labels, and predictions
// beside them, are counted by class until there are `samples` of them, for each mode by itself and
// over all workers; then the counts are judged, and counting begins anew.

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "builtin_table.h"
#include "class_numbers.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/run_memory.h"
#include "labelled_step.h"
#include "tensor_selection.h"

namespace cupel::rules_detail {
namespace {

struct ClassCount {
  std::int64_t labels = 0;
  std::int64_t predicted = 0;  // of those, the ones that have a prediction
  std::int64_t wrong = 0;      // and a wrong one
};

struct Window {
  std::map<std::int64_t, ClassCount> classes;
  std::int64_t samples = 0;
};

struct Role {
  bool labels = false;
  bool predictions = false;
};

std::vector<std::int64_t> classes_of(const std::vector<LabelledStep::Value>& values, bool rows) {
  std::vector<std::int64_t> classes;
  for (const auto& [tensor, value] : values) {
    if (rows && has_rows(value))
      append_largest(value, classes);
    else
      append_classes(value, classes);
  }
  return classes;
}

class ClassImbalance final : public Rule {
 public:
  struct Options {
    double imbalance = 0;
    double misprediction = 0;
    std::int64_t samples = 0;
    bool argmax = false;
    PatternList labels;
    PatternList predictions;
  };

  static RuleDefinition definition() {
    return define_rule<ClassImbalance>(
        {.name = "ClassImbalance",
         .summary = "some classes are rare, or mostly predicted wrong",
         .description = R"(
The rule counts labels by class, over steps and workers and separately for each mode, until there
are `samples` labels. Then

    most frequent / rarest class that occurs > threshold_imbalance
    predicted wrong / predicted, of a class, > threshold_misprediction

fires, both strictly, and the rule starts over with the next step. A class that never occurs is no
imbalance.

Labels and predictions are the tensors whose names match the two patterns. Those of one worker are
joined by name and paired element by element. With argmax=True, the class of a prediction is the
position of the largest element along the last axis; so is the class of a label that has as many
axes. Otherwise elements are class numbers: a fraction of one half or more is class 1, a smaller one
class 0. Elements that are not finite are not counted. Where labels and predictions differ in
number, the predictions are skipped, and the labels are still judged for imbalance.

The rule reads raw values, every element once. Until there are enough samples, it explains how many
it has. Choose `samples` so large that even a rare class occurs about ten times.
)",
         .example = "ClassImbalance,samples=5000,argmax=True,threshold_imbalance=20"},
        {option(&Options::imbalance,
                {.name = "threshold_imbalance",
                 .default_text = "10",
                 .range = {.least = 1},
                 .help = "fires when a class is more often labelled than another by this (>= 1)"}),
         option(&Options::misprediction,
                {.name = "threshold_misprediction",
                 .default_text = "0.7",
                 .range = {.least = 0, .most = 1},
                 .help = "fires when more than this share of a class is predicted wrong (0 to 1)"}),
         option(&Options::samples, {.name = "samples",
                                    .default_text = "500",
                                    .range = {.least = 1},
                                    .help = "judges whenever there are so many labels (>= 1)"}),
         option(&Options::argmax,
                {.name = "argmax",
                 .default_text = "False",
                 .help = "classes are where the largest element along the last axis is"}),
         option(&Options::labels, {.name = "labels_regex",
                                   .default_text = ".*labels",
                                   .help = "patterns searched in names of labels"}),
         option(&Options::predictions, {.name = "predictions_regex",
                                        .default_text = ".*predictions",
                                        .help = "patterns searched in names of predictions"})});
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = {.patterns = options.labels,
                          .parameters = {"labels_regex"},
                          .saved_as = "labels_and_predictions"},
              .suffices = {TensorSource::value()}},
             {.tensors = {.patterns = options.predictions,
                          .parameters = {"predictions_regex"},
                          .saved_as = "labels_and_predictions"},
              .suffices = {TensorSource::value()},
              .optional = true}}};
  }

  ClassImbalance(Trial& base, const Options& options)
      : Rule(base), options_(options), names_({}, all(options)) {}

  Verdict invoke_at_step(std::int64_t step) override {
    memory_.bring_before(
        step, base_trial(), names_, [this] { windows_.clear(); },
        [this](const RecordView& record) {
          Verdict unheard;
          if (open_ && open_->step != record.step()) finish(unheard);
          add(record, unheard);
        });
    Verdict verdict;
    if (open_) finish(verdict);
    verdict = {};
    const std::size_t selected = base_trial().visit_step(
        step, names_, [&](const RecordView& record) { add(record, verdict); });
    if (open_) finish(verdict);
    if (selected == 0)
      verdict.not_applicable("neither labels nor predictions were saved at this step");
    return verdict;
  }

 private:
  struct OpenStep {
    std::int64_t step = 0;
    Mode mode = Mode::Global;
    LabelledStep saved;
  };

  static PatternList all(const Options& options) {
    PatternList patterns = options.labels;
    patterns.add(options.predictions);
    return patterns;
  }

  // Each name is searched once.
  Role role_of(const std::string& tensor) {
    const auto [found, is_new] = roles_.try_emplace(&tensor);
    if (is_new)
      found->second = {options_.labels.matches(tensor), options_.predictions.matches(tensor)};
    return found->second;
  }

  void add(const RecordView& record, Verdict& verdict) {
    if (!open_) open_ = OpenStep{record.step(), record.mode(), {}};
    const Role role = role_of(record.tensor());
    TensorCopy copy(*this, record, verdict);
    if (role.labels) open_->saved.add_labels(copy);
    if (role.predictions) open_->saved.add_predictions(copy);
  }

  void finish(Verdict& verdict) {
    const OpenStep step = *std::exchange(open_, std::nullopt);
    Window& window = windows_[step.mode];
    const LabelledStep::Value* labels = nullptr;
    const LabelledStep::Value* predictions = nullptr;
    std::string_view worker;
    for (const auto& [name, of] : step.saved.workers()) {
      if (of.labels.empty()) {
        verdict.skip({*of.predictions.front().tensor, std::string(name),
                      "there are no labels to compare with"});
        continue;
      }
      count(name, of, window, verdict);
      if (labels == nullptr) {
        labels = &of.labels.front();
        worker = name;
      }
      if (predictions == nullptr && !of.predictions.empty()) predictions = &of.predictions.front();
    }
    if (labels == nullptr) return;
    if (window.samples < options_.samples) {
      report_judgement(*this, verdict, {*labels->tensor, worker}, [&] {
        return JudgementText{
            "classes (from raw)",
            std::to_string(window.samples) + " of " + std::to_string(options_.samples) + " samples",
            {}};
      });
      return;
    }
    judge_imbalance(window, *labels->tensor, worker, verdict);
    judge_mispredictions(window, predictions == nullptr ? *labels->tensor : *predictions->tensor,
                         worker, verdict);
    window = {};
  }

  void count(std::string_view worker, const LabelledStep::OfWorker& of, Window& window,
             Verdict& verdict) const {
    const bool one_hot = !of.predictions.empty() && of.labels.front().value.shape().rank() ==
                                                        of.predictions.front().value.shape().rank();
    const auto labels = classes_of(of.labels, options_.argmax && one_hot);
    auto predictions = classes_of(of.predictions, options_.argmax);
    if (!predictions.empty() && predictions.size() != labels.size()) {
      verdict.skip({*of.predictions.front().tensor, std::string(worker),
                    std::to_string(predictions.size()) + " predictions of " +
                        std::to_string(labels.size()) + " labels"});
      predictions.clear();
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kNoClass) continue;
      ClassCount& of_class = window.classes[labels[i]];
      ++window.samples;
      ++of_class.labels;
      if (predictions.empty() || predictions[i] == kNoClass) continue;
      ++of_class.predicted;
      if (predictions[i] != labels[i]) ++of_class.wrong;
    }
  }

  void judge_imbalance(const Window& window, std::string_view tensor, std::string_view worker,
                       Verdict& verdict) const {
    const auto rarer = [](const auto& a, const auto& b) {
      return a.second.labels < b.second.labels;
    };
    const auto [least, most] =
        std::minmax_element(window.classes.begin(), window.classes.end(), rarer);
    const double ratio =
        static_cast<double>(most->second.labels) / static_cast<double>(least->second.labels);
    const std::string counts =
        ", " + std::to_string(most->second.labels) + " of class " + std::to_string(most->first) +
        ", " + std::to_string(least->second.labels) + " of class " + std::to_string(least->first);
    report_judgement(*this, verdict,
                     {tensor, worker, ratio > options_.imbalance, ratio, options_.imbalance}, [&] {
                       const std::string compared =
                           "imbalance " + comparison_text(ratio, ">", options_.imbalance);
                       return JudgementText{"classes (from raw)", compared, compared + counts};
                     });
  }

  void judge_mispredictions(const Window& window, std::string_view tensor, std::string_view worker,
                            Verdict& verdict) const {
    for (const auto& of : window.classes) {
      const ClassCount& counts = of.second;
      if (counts.predicted == 0) continue;
      const double share =
          static_cast<double>(counts.wrong) / static_cast<double>(counts.predicted);
      report_judgement(
          *this, verdict,
          {tensor, worker, share > options_.misprediction, share, options_.misprediction}, [&] {
            const std::string compared = "class " + std::to_string(of.first) + " predicted wrong " +
                                         comparison_text(share, ">", options_.misprediction);
            return JudgementText{"classes (from raw)", compared,
                                 compared + ", " + std::to_string(counts.wrong) + " of " +
                                     std::to_string(counts.predicted)};
          });
    }
  }

  Options options_;
  NameSelection names_;
  RunMemory memory_;
  std::unordered_map<const std::string*, Role> roles_;
  std::optional<OpenStep> open_;  // the one whose tensors are still coming
  std::map<Mode, Window> windows_;
};

}  // namespace

RuleDefinition class_imbalance() { return ClassImbalance::definition(); }

}  // namespace cupel::rules_detail
