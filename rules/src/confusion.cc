// A classifier takes classes for each other. Of the pairs of label and prediction at one step,
// C[i][j] are labelled i and predicted j; for each class i that was predicted, of C's column i
//   C[i][i] / sum < min_diag, or C[j][i] / sum > max_off_diag of another class j, fires.
// With normalize=true it is the row of each class that was labelled; with trace, C[i][i] is divided
// by all that were predicted right.
//
// Only cells that were met are kept: labels may be any whole numbers.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "builtin_table.h"
#include "class_numbers.h"
#include "cupel/rules/number_text.h"
#include "detector.h"
#include "labelled_step.h"

namespace cupel {
namespace {

constexpr std::array<std::string_view, 3> kNormalizations = {"predicted", "true", "trace"};
enum class Normalization { Predicted, True, Trace };

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

class Confusion final : public Detector {
 public:
  static constexpr std::string_view kName = "Confusion";
  static constexpr std::string_view kSummary = "classes are often taken for others";
  static constexpr std::string_view kDescription = R"(
Of the pairs of label and prediction at one step, over all workers, C(i, j) are labelled i and
predicted j. For each class i that was predicted, with S the sum of C(j, i) over all j,

    C(i, i) / S < min_diag, or C(j, i) / S > max_off_diag for another class j

fires, both strictly. normalize=true takes, for each class that was labelled, shares of its row
instead; normalize=trace divides C(i, i) by all that are right, which no balanced problem passes
with the defaults.

Labels are the tensor of that name, where it was saved, else the tensors of the collection, joined
in the order of the numbers in their names; predictions likewise. Predictions of two axes are rows
of scores whose largest element is the class, the first of equal ones; otherwise elements are class
numbers, and fractions from one half on are class 1. Pairs outside of 0 to category_no - 1 are not
counted, and the message says how many. Where numbers of labels and predictions differ, or one of
them is missing, the worker is skipped.

Each step stands alone, in every mode: few samples of a class make shares of little meaning. Save
labels and predictions of a whole validation set. Raw values are read, every element once.
)";
  static constexpr std::string_view kExample =
      "Confusion,category_no=10,min_diag=0.8,max_off_diag=0.2";
  static constexpr std::array kParameters = {
      ParameterInfo{"category_no", "int", "",
                    "how many classes there are (>= 2); default: as many as are met"},
      ParameterInfo{"labels", "text", "labels", "the tensor of the labels"},
      ParameterInfo{"predictions", "text", "predictions", "the tensor of the predictions"},
      ParameterInfo{"labels_collection", "text", "labels",
                    "where that was not saved: the tensors of this collection"},
      ParameterInfo{"predictions_collection", "text", "predictions",
                    "where that was not saved: the tensors of this collection"},
      ParameterInfo{"min_diag", "float", "0.9",
                    "fires when the share of a class that is right is below this (0 to 1)"},
      ParameterInfo{"max_off_diag", "float", "0.1",
                    "fires when the share of another class is above this (0 to 1)"},
      ParameterInfo{"normalize", "text", "predicted",
                    "shares of what: of all predicted as the class, true: of all labelled with it, "
                    "trace: what is right, of all that are right"}};
  struct Options {
    std::optional<std::int64_t> classes = std::nullopt;
    Place labels = {"labels", "labels"};
    Place predictions = {"predictions", "predictions"};
    double min_diagonal = 0.9;
    double max_other = 0.1;
    Normalization normalization = Normalization::Predicted;
  };

  static Options read(ParameterReader& reader) {
    const auto normalization = [&] {
      const std::string name = reader.choice("normalize", kNormalizations);
      const auto found = std::find(kNormalizations.begin(), kNormalizations.end(), name);
      return found == kNormalizations.end()
                 ? Normalization::Predicted
                 : static_cast<Normalization>(found - kNormalizations.begin());
    };
    return {.classes = reader.optional_integer("category_no", 2),
            .labels = {reader.text("labels"), reader.text("labels_collection")},
            .predictions = {reader.text("predictions"), reader.text("predictions_collection")},
            .min_diagonal = reader.number("min_diag", 0, 1),
            .max_other = reader.number("max_off_diag", 0, 1),
            .normalization = normalization()};
  }

  static RuleNeeds needs(const Options& options) {
    return {{{.tensors = options.labels.needed("labels_collection"),
              .suffices = {TensorSource::value()}},
             {.tensors = options.predictions.needed("predictions_collection"),
              .suffices = {TensorSource::value()}}}};
  }

  Confusion(Trial& base, const Options& options)
      : Detector(base, kName, needs(options)),
        options_(options),
        labels_(options.labels),
        predictions_(options.predictions) {}

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
      tell_of(*this, verdict, {tensor, worker, fired, value, threshold}, [&] {
        std::string said = cell + ": " + comparison_text(value, sign, threshold) + " of " + whole;
        return Words{"classes (from raw)", said, said + ignored};
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

BuiltinRule confusion() { return builtin_rule<Confusion>(); }

}  // namespace cupel
