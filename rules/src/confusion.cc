// A classifier takes classes for each other. Of the pairs of label and prediction at one step,
// C[i][j] are labelled i and predicted j; for each class i that was predicted, of C's column i
//   C[i][i] / sum < min_diag, or C[j][i] / sum > max_off_diag of another class j, fires.
// With normalize=true it is the row of each class that was labelled; with trace, C[i][i] is divided
// by all that were predicted right.
//
// Only cells that were met are kept: labels may be any whole numbers.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "builtin_table.h"
#include "class_numbers.h"
#include "cupel/core/number_text.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/rule.h"
#include "labelled_step.h"

namespace cupel::rules_detail {
namespace {

enum class Normalization { Predicted, True, Trace };

Normalization normalization_of(std::string_view choice) {
  if (choice == "true") return Normalization::True;
  return choice == "trace" ? Normalization::Trace : Normalization::Predicted;
}

// A pattern that only this name matches.
std::string exactly(std::string_view name) {
  constexpr std::string_view kSpecial = R"(\^$.[]|()?*+{}-#)";
  std::string pattern = "^";
  for (const char c : name) {
    if (kSpecial.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

// Where labels or predictions are: the tensor of a name, else those of a collection.
struct Place {
  std::string tensor;
  std::string collection;

  NeededTensors needed(std::string chosen_by) const {
    return {.collections = {collection},
            .patterns = exactly(tensor),
            .parameters = {chosen_by},
            .any_suffices = true,
            .saved_as = collection};
  }
};

bool is_matrix(const TensorValue& value) { return value.shape().rank() == 2 && has_rows(value); }

std::vector<std::int64_t> classes_in(const std::vector<LabelledStep::Value>& values,
                                     bool matrices_are_rows) {
  std::vector<std::int64_t> classes;
  for (const auto& [tensor, value] : values) {
    if (matrices_are_rows && is_matrix(value))
      append_largest(value, classes);
    else
      append_classes(value, classes);
  }
  return classes;
}

// How often which classes met: cells by the class whose share they are, then by the other one.
struct Matrix {
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> cells;
  std::int64_t right = 0;
  std::int64_t out_of_range = 0;
};

class Confusion final : public Rule {
 public:
  struct Options {
    std::optional<std::int64_t> classes;
    Place labels;
    Place predictions;
    double min_diagonal = 0;
    double max_other = 0;
    Normalization normalization = Normalization::Predicted;
  };

  static RuleDefinition definition() {
    return define_rule<Confusion>(
        {.name = "Confusion",
         .summary = "classes are often taken for others",
         .description = R"(
The rule pairs labels and predictions of one step, over all workers. C(i, j) is the number of pairs
that are labelled i and predicted j. For each class i that was predicted, with S the sum of C(j, i)
over all j,

    C(i, i) / S < min_diag, or C(j, i) / S > max_off_diag for another class j

fires, both strictly. normalize=true uses the sums of rows instead: shares of each class that was
labelled. normalize=trace divides C(i, i) by all pairs that are right; no balanced problem passes
that with the default thresholds.

Labels are the tensor that is named `labels`, where it was saved, else the tensors of the collection
labels_collection, joined in the order of the numbers in their names. Predictions are found in the
same way. Predictions of two axes are rows of scores: the class is the position of the largest
element, the first of equal ones. Otherwise elements are class numbers, and a fraction of one half
or more is class 1. Pairs outside of 0 to category_no - 1 are not counted, and the message has their
number. A worker is skipped where its labels and predictions differ in number, or one of them is
missing.

The rule judges each step by itself, in every mode. The shares mean little where a class has few
samples: save labels and predictions of a whole validation set. The rule reads raw values, every
element once.
)",
         .example = "Confusion,category_no=10,min_diag=0.8,max_off_diag=0.2"},
        {option(&Options::classes,
                {.name = "category_no",
                 .range = {.least = 2},
                 .help = "the number of classes (>= 2); default: as many as occur"}),
         option<std::string, Options>(
             {.name = "labels", .default_text = "labels", .help = "the tensor of the labels"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.labels.tensor = value;
             }),
         option<std::string, Options>(
             {.name = "predictions",
              .default_text = "predictions",
              .help = "the tensor of the predictions"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.predictions.tensor = value;
             }),
         option<std::string, Options>(
             {.name = "labels_collection",
              .default_text = "labels",
              .help = "where that was not saved: the tensors of this collection"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.labels.collection = value;
             }),
         option<std::string, Options>(
             {.name = "predictions_collection",
              .default_text = "predictions",
              .help = "where that was not saved: the tensors of this collection"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.predictions.collection = value;
             }),
         option(&Options::min_diagonal,
                {.name = "min_diag",
                 .default_text = "0.9",
                 .range = {.least = 0, .most = 1},
                 .help = "fires when the share of a class that is right is below this (0 to 1)"}),
         option(&Options::max_other,
                {.name = "max_off_diag",
                 .default_text = "0.1",
                 .range = {.least = 0, .most = 1},
                 .help = "fires when the share of another class is above this (0 to 1)"}),
         option<std::string, Options>(
             {.name = "normalize",
              .default_text = "predicted",
              .choices = {"predicted", "true", "trace"},
              .help =
                  "shares of what: of all predicted as the class, true: of all labelled with it, "
                  "trace: what is right, of all that are right"},
             [](Options& options, const std::string& value, ParameterMistakes& /*mistakes*/) {
               options.normalization = normalization_of(value);
             })});
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = options.labels.needed("labels_collection"),
              .suffices = {TensorSource::value()}},
             {.tensors = options.predictions.needed("predictions_collection"),
              .suffices = {TensorSource::value()}}}};
  }

  Confusion(Trial& base, const Options& options)
      : Rule(base), options_(options), labels_(options.labels), predictions_(options.predictions) {}

  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    LabelledStep saved;
    const bool labelled = read_place(step, labels_, verdict, saved, &LabelledStep::add_labels);
    const bool predicted =
        read_place(step, predictions_, verdict, saved, &LabelledStep::add_predictions);
    if (!labelled && !predicted)
      verdict.not_applicable("neither labels nor predictions were saved at this step");
    saved.sort_naturally();
    judge(saved, verdict);
    return verdict;
  }

 private:
  struct Source {
    explicit Source(const Place& from)
        : place(from), by_name({}, exactly(from.tensor)), by_collection({from.collection}) {}
    Place place;
    NameSelection by_name;
    NameSelection by_collection;
  };

  // Reads what a place holds at a step, by worker; whether there is anything.
  bool read_place(std::int64_t step, Source& source, Verdict& verdict, LabelledStep& into,
                  void (LabelledStep::*add)(TensorCopy&)) {
    std::vector<std::string_view> named;
    std::size_t found = 0;
    base_trial().visit_step(step, source.by_name, [&](const RecordView& record) {
      if (record.tensor() != source.place.tensor) return;
      ++found;
      named.push_back(record.worker());
      TensorCopy copy(*this, record, verdict);
      (into.*add)(copy);
    });
    if (!named.empty() && named.size() == base_trial().workers().size()) return true;
    base_trial().visit_step(step, source.by_collection, [&](const RecordView& record) {
      ++found;
      if (std::find(named.begin(), named.end(), record.worker()) != named.end()) return;
      TensorCopy copy(*this, record, verdict);
      (into.*add)(copy);
    });
    return found > 0;
  }

  void judge(const LabelledStep& saved, Verdict& verdict) const {
    Matrix matrix;
    const std::string* tensor = nullptr;
    std::string_view worker;
    for (const auto& [name, of] : saved.workers()) {
      if (!count(name, of, matrix, verdict) || tensor != nullptr) continue;
      tensor = of.predictions.front().tensor;
      worker = name;
    }
    if (tensor == nullptr) return;
    if (matrix.cells.empty())
      return verdict.skip({*tensor, std::string(worker), "no label and prediction are in range"});
    judge(matrix, *tensor, worker, verdict);
  }

  // Adds the pairs of a worker; whether it has any.
  bool count(std::string_view worker, const LabelledStep::OfWorker& of, Matrix& matrix,
             Verdict& verdict) const {
    const auto skip = [&](const LabelledStep::Value& value, std::string reason) {
      verdict.skip({*value.tensor, std::string(worker), std::move(reason)});
      return false;
    };
    if (of.predictions.empty())
      return skip(of.labels.front(), "there are no predictions to compare with");
    if (of.labels.empty())
      return skip(of.predictions.front(), "there are no labels to compare with");
    const auto predictions = classes_in(of.predictions, true);
    const auto labels = classes_in(of.labels, is_matrix(of.predictions.front().value));
    if (labels.size() != predictions.size())
      return skip(of.predictions.front(), std::to_string(predictions.size()) + " predictions of " +
                                              std::to_string(labels.size()) + " labels");
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!in_range(labels[i]) || !in_range(predictions[i])) {
        ++matrix.out_of_range;
        continue;
      }
      const bool rows = options_.normalization == Normalization::True;
      ++matrix.cells[rows ? labels[i] : predictions[i]][rows ? predictions[i] : labels[i]];
      if (labels[i] == predictions[i]) ++matrix.right;
    }
    return true;
  }

  bool in_range(std::int64_t number) const {
    return number >= 0 && (!options_.classes || number < *options_.classes);
  }

  void judge(const Matrix& matrix, std::string_view tensor, std::string_view worker,
             Verdict& verdict) const {
    const bool rows = options_.normalization == Normalization::True;
    const bool trace = options_.normalization == Normalization::Trace;
    std::string ignored;
    if (matrix.out_of_range > 0)
      ignored = ", " + std::to_string(matrix.out_of_range) + " out of range not counted";
    const auto share = [&](std::string_view sign, bool fired, double value, double threshold,
                           const std::string& cell, const std::string& whole) {
      report_judgement(*this, verdict, {tensor, worker, fired, value, threshold}, [&] {
        std::string said = cell + ": " + comparison_text(value, sign, threshold) + " of " + whole;
        return JudgementText{"classes (from raw)", said, said + ignored};
      });
    };
    for (const auto& [given, others] : matrix.cells) {
      const std::string name = std::to_string(given);
      const std::string all = (rows ? "all labelled " : "all predicted ") + name;
      double sum = 0;
      for (const auto& [other, times] : others) sum += static_cast<double>(times);
      const auto right = others.find(given);
      const double diagonal = (right == others.end() ? 0 : static_cast<double>(right->second)) /
                              (trace ? static_cast<double>(matrix.right) : sum);
      share("<", diagonal < options_.min_diagonal, diagonal, options_.min_diagonal,
            "labelled and predicted " + name, trace ? "all right" : all);
      for (const auto& [other, times] : others) {
        if (other == given) continue;
        const double part = static_cast<double>(times) / sum;
        const std::string other_name = std::to_string(other);
        share(
            ">", part > options_.max_other, part, options_.max_other,
            "labelled " + (rows ? name : other_name) + ", predicted " + (rows ? other_name : name),
            all);
      }
    }
  }

  Options options_;
  Source labels_;
  Source predictions_;
};

}  // namespace

RuleDefinition confusion() { return Confusion::definition(); }

}  // namespace cupel::rules_detail
