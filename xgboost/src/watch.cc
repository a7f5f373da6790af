// The watch of a booster. An iteration is a step: it begins, what is due in it is asked of XGBoost
// and saved, and it is committed. Every collection is asked for by itself, in the thread that
// trains, and by the names of its tensors: what no collection of the hook wants is not computed.
// Values are computed first and saved then, so that an error of XGBoost leaves out one collection,
// once and for good, and an error that the user has the hook throw leaves the call.

#include "cupel/xgboost/watch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"
#include "cupel/core/tree_table.h"
#include "evaluation_text.h"
#include "hyperparameters.h"
#include "library_calls.h"
#include "model_features.h"

namespace cupel::xgboost {

using namespace xgboost_detail;

namespace {

// The collections that the watch fills; metrics has those of losses, too.
enum class Part : std::uint8_t {
  Metrics,
  Hyperparameters,
  Predictions,
  Labels,
  FeatureImportance,
  AverageShap,
  FullShap,
  Trees,
};
constexpr std::array<std::string_view, 8> kParts = {
    "metrics",      "hyperparameters", "predictions", "labels", "feature_importance",
    "average_shap", "full_shap",       "trees"};
constexpr const char* kLosses = "losses";
constexpr const char* kLoss = "train-rmse";  // a name in both

constexpr std::array<std::string_view, 5> kImportances = {"weight", "gain", "cover", "total_gain",
                                                          "total_cover"};
constexpr const char* kPredictions = "predictions";
constexpr const char* kLabels = "labels";
constexpr const char* kFullShap = "full_shap/matrix";
constexpr const char* kAverageShap = "average_shap/";
constexpr const char* kBias = "bias";

std::string importance_name(std::string_view type, std::string_view feature) {
  return "feature_importance/" + std::string(type) + "/" + std::string(feature);
}

// The mean of each column over all rows.
std::vector<float> means_of_columns(std::span<const float> values, std::size_t columns) {
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < values.size(); i += columns)
    for (std::size_t column = 0; column < columns; ++column) sums[column] += values[i + column];
  std::vector<float> means;
  means.reserve(columns);
  const double rows = static_cast<double>(values.size() / columns);
  for (const double sum : sums) means.push_back(static_cast<float>(sum / rows));
  return means;
}

}  // namespace

struct Watch::State {
  State(Hook& watching, void* watched, WatchOptions&& given);

  // Makes a step of the iteration; `evaluation`: its text of metrics, null for none. Returns
  // whether the training is to stop.
  bool save_iteration(int iteration, const std::string_view* evaluation);

 private:
  struct Importance {
    std::string tensor;
    double share;
  };

  void begin_step(int iteration);
  void save_due(int iteration, const std::string_view* evaluation);
  void save_metrics(int iteration, const std::string_view* evaluation);
  void save_hyperparameters();
  void save_predictions();
  void save_labels();
  void save_importance();
  void save_contributions();
  void save_trees();

  // Names of tensors, and the collections that have none of these tensors.
  struct Names {
    std::vector<std::string> tensors;
    std::vector<std::string_view> unrelated;
  };

  std::vector<std::size_t> due_evals();
  Evaluation evaluated(int iteration, std::span<const std::size_t> due);
  std::vector<Importance> importance();
  std::vector<std::size_t> wanted_importances();
  bool wants_average_shap();
  void save_average_shap(const Values& contributions);
  TreeTable trees_of_last_round();

  bool may_be_due(Part part);
  Names named(std::vector<std::string> tensors) const;
  bool is_any_due(const Names& names) const;
  const Features& features();
  void require_trees();

  // What `compute` returns; nothing, and the part is left out from now on, where it fails.
  template <class Compute>
  auto computed(Part part, Compute&& compute) -> std::optional<decltype(compute())> {
    try {
      return compute();
    } catch (const std::exception& error) {
      leave_out(part, error.what());
      return std::nullopt;
    }
  }
  bool is_left_out(Part part) const noexcept { return left_out_[static_cast<std::size_t>(part)]; }
  void leave_out(Part part, std::string_view why) noexcept;
  void report(std::string_view what) noexcept { hook_.report_problem(what); }

  // Names that nothing wants do not become known to the hook.
  void save(std::string_view tensor, const TensorView& view) {
    if (hook_.would_save(tensor)) hook_.save_tensor(tensor, view);
  }

  Hook& hook_;
  void* const booster_;
  WatchOptions options_;
  const std::vector<Hyperparameter> hyperparameters_;
  std::vector<void*> evals_;      // handles of options_.evals
  std::vector<void*> described_;  // all data, in the order in which they are asked for features
  std::int64_t offset_ = 0;       // of a step from its iteration
  bool has_reported_offset_ = false;
  std::array<bool, kParts.size()> left_out_{};
  bool has_reported_text_ = false;
  // For each data of evals the metrics of its last evaluation.
  std::vector<std::vector<std::string>> metric_names_;
  std::optional<Features> features_;
  // Of all features; made when they are first asked for.
  std::optional<std::array<Names, kImportances.size()>> importance_names_;
  std::optional<Names> average_shap_names_;
  std::optional<bool> is_linear_;
  // For each part the built-in collections that have none of its tensors.
  std::optional<std::array<std::vector<std::string_view>, kParts.size()>> unrelated_;
};

Watch::State::State(Hook& watching, void* watched, WatchOptions&& given)
    : hook_(watching),
      booster_(watched),
      options_(std::move(given)),
      hyperparameters_(read_hyperparameters(options_.hyperparameters)) {
  if (hook_.profile() != Profile::XGBoost)
    throw UsageError("a watch of XGBoost needs a hook with profile = Profile::XGBoost");
  if (booster_ == nullptr) throw UsageError("a watch of XGBoost needs a booster: it is null");
  for (void* const data : {options_.train_data, options_.validation_data})
    if (data != nullptr) described_.push_back(data);
  for (const auto& [name, data] : options_.evals) {
    if (data == nullptr) throw UsageError("the data of evals are null: \"" + printable(name) + '"');
    evals_.push_back(data);
    described_.push_back(data);
  }
  metric_names_.resize(evals_.size());
}

void Watch::State::leave_out(Part part, std::string_view why) noexcept {
  left_out_[static_cast<std::size_t>(part)] = true;
  try {
    report("the collection " + std::string(kParts[static_cast<std::size_t>(part)]) +
           " is left out from step " + std::to_string(hook_.step()) + " on: " + printable(why));
  } catch (const std::exception&) {
    report("a collection is left out: no memory");
  }
}

void Watch::State::begin_step(int iteration) {
  std::int64_t step = iteration + offset_;
  // A negative iteration is a mistake, and the hook reports it.
  if (iteration >= 0 && step <= hook_.step()) {
    const std::int64_t last = hook_.step();
    step = last + 1;
    offset_ = step - iteration;
    if (!std::exchange(has_reported_offset_, true)) {
      report("iteration " + std::to_string(iteration) + " is not behind the last step, " +
             std::to_string(last) + ": a second training goes on as step " + std::to_string(step) +
             " (reported once)");
    }
  }
  hook_.next_step(step);
}

bool Watch::State::save_iteration(int iteration, const std::string_view* evaluation) {
  begin_step(iteration);
  if (hook_.due()) {
    try {
      save_due(iteration, evaluation);
    } catch (const std::bad_alloc&) {
      report("no memory for all values of an iteration");
    }
  }
  hook_.end_step();
  return hook_.stop_requested();
}

void Watch::State::save_due(int iteration, const std::string_view* evaluation) {
  save_metrics(iteration, evaluation);
  save_hyperparameters();
  save_predictions();
  save_labels();
  save_importance();
  save_contributions();
  save_trees();
}

// ---- What is due

// Whether any collection is due that may hold tensors of the part: at most steps this answers for
// all its names at once. Built-in collections that nobody has changed hold their own names only.
bool Watch::State::may_be_due(Part part) {
  if (!unrelated_) {
    unrelated_.emplace();
    const Collections known = builtin_collections(Profile::XGBoost);
    const Collections& configured = hook_.get_collections();
    const auto is_unchanged = [&](std::string_view name) {
      const auto found = configured.find(name);
      return found == configured.end() || (found->second.tensor_names().empty() &&
                                           found->second.include_regex().texts() ==
                                               known.find(name)->second.include_regex().texts());
    };
    for (std::size_t each = 0; each < kParts.size(); ++each) {
      auto& others = (*unrelated_)[each];
      for (std::size_t other = 0; other < kParts.size(); ++other)
        if (other != each && is_unchanged(kParts[other])) others.push_back(kParts[other]);
      if (each != static_cast<std::size_t>(Part::Metrics) && is_unchanged(kLosses))
        others.push_back(kLosses);
    }
  }
  return hook_.due_beyond((*unrelated_)[static_cast<std::size_t>(part)]);
}

// The patterns of HookOptions are in the collections all and default.
Watch::State::Names Watch::State::named(std::vector<std::string> tensors) const {
  Names names{std::move(tensors), {}};
  for (const auto& [name, collection] : hook_.get_collections()) {
    const auto contains = [&each = collection](const std::string& tensor) {
      return each.contains(tensor);
    };
    if (name != "all" && name != "default" && std::ranges::none_of(names.tensors, contains))
      names.unrelated.push_back(name);
  }
  return names;
}

// Patterns are searched only where a collection is due that has any of the names.
bool Watch::State::is_any_due(const Names& names) const {
  return hook_.due_beyond(names.unrelated) &&
         std::ranges::any_of(names.tensors,
                             [this](const std::string& name) { return hook_.would_save(name); });
}

// XGBoost refuses most of what is asked about trees here, but not all, and loses memory at it.
void Watch::State::require_trees() {
  if (!is_linear_) is_linear_ = is_linear(booster_);
  if (*is_linear_) throw LibraryError("the booster gblinear has no trees");
}

const Features& Watch::State::features() {
  // Before the first update a model has none.
  if (!features_ || features_->size() == 0) features_ = read_features(booster_, described_);
  return *features_;
}

// ---- Metrics and hyperparameters

// The data of which a metric is due. The names of metrics are known when the data have been
// evaluated once.
std::vector<std::size_t> Watch::State::due_evals() {
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < evals_.size(); ++i) {
    const std::vector<std::string>& names = metric_names_[i];
    const auto is_due = [this](const std::string& name) { return hook_.would_save(name); };
    if (names.empty() ? may_be_due(Part::Metrics) : std::ranges::any_of(names, is_due))
      due.push_back(i);
  }
  return due;
}

// Data have their numbers as names where XGBoost evaluates, so that their names may be any text.
Evaluation Watch::State::evaluated(int iteration, std::span<const std::size_t> due) {
  if (is_distributed())
    throw LibraryError(
        "the ranks of a distributed training evaluate together: give after_iteration() the text "
        "of XGBoosterEvalOneIter");
  std::vector<void*> handles;
  for (const std::size_t each : due) {
    handles.push_back(evals_[each]);
    metric_names_[each].clear();
  }
  Evaluation evaluation = read_evaluation(evaluate(booster_, iteration, handles));
  for (Metric& metric : evaluation.metrics) {
    const std::size_t end = metric.name.find('-');
    const auto data = parse_integer<std::size_t>(std::string_view(metric.name).substr(0, end));
    if (end == std::string::npos || !data || *data >= due.size())
      throw LibraryError("XGBoost gives a metric of unknown data: " + metric.name);
    const std::size_t each = due[*data];
    metric.name = options_.evals[each].first + metric.name.substr(end);
    metric_names_[each].push_back(metric.name);
  }
  return evaluation;
}

// A given text is read before anything is asked of XGBoost, which then may write over the text. To
// read it costs next to nothing.
void Watch::State::save_metrics(int iteration, const std::string_view* evaluation) {
  std::vector<std::size_t> due;
  if (evaluation != nullptr) {
    if (!may_be_due(Part::Metrics)) return;
  } else {
    if (is_left_out(Part::Metrics)) return;
    if (evals_.empty()) {
      if (hook_.would_save(kLoss))
        leave_out(Part::Metrics, "the watch has no evals, and no text of an evaluation");
      return;
    }
    due = due_evals();
    if (due.empty()) return;
  }
  const auto read = computed(Part::Metrics, [&] {
    return evaluation != nullptr ? read_evaluation(*evaluation) : evaluated(iteration, due);
  });
  if (!read) return;
  if (!read->unreadable.empty() && !std::exchange(has_reported_text_, true))
    report("metrics cannot be read behind \"" + printable(read->unreadable) +
           "\" in the text of an evaluation (reported once)");
  for (const auto& [name, value] : read->metrics) save(name, TensorView(&value, {1}));
}

void Watch::State::save_hyperparameters() {
  for (const Hyperparameter& each : hyperparameters_) save(each.tensor, each.view());
  // Not where everything is saved: "/" is a name that only a pattern for all names finds.
  if (hyperparameters_.empty() && !is_left_out(Part::Hyperparameters) &&
      hook_.would_save("hyperparameters/") && !hook_.would_save("/"))
    leave_out(Part::Hyperparameters, "the watch has no hyperparameters");
}

// ---- Predictions and labels

void Watch::State::save_predictions() {
  if (is_left_out(Part::Predictions) || !hook_.would_save(kPredictions)) return;
  if (options_.validation_data == nullptr)
    return leave_out(Part::Predictions, "the watch has no validation_data");
  const auto predicted = computed(Part::Predictions, [&] {
    return predict(booster_, options_.validation_data, Predict::Value);
  });
  if (predicted) save(kPredictions, TensorView(predicted->values.data(), predicted->shape));
}

void Watch::State::save_labels() {
  if (is_left_out(Part::Labels) || !hook_.would_save(kLabels)) return;
  if (options_.validation_data == nullptr)
    return leave_out(Part::Labels, "the watch has no validation_data");
  const auto labels = computed(Part::Labels, [&] { return labels_of(options_.validation_data); });
  if (labels) save(kLabels, TensorView(labels->values.data(), labels->shape));
}

// ---- Feature importance

// Places in kImportances. Before the first update a model has no features.
std::vector<std::size_t> Watch::State::wanted_importances() {
  if (features().size() == 0) return {};
  if (!importance_names_) {
    std::array<Names, kImportances.size()> all;
    for (std::size_t type = 0; type < all.size(); ++type) {
      std::vector<std::string> names;
      for (const std::string& feature : features().names)
        names.push_back(importance_name(kImportances[type], feature));
      all[type] = named(std::move(names));
    }
    importance_names_ = std::move(all);
  }
  std::vector<std::size_t> wanted;
  for (std::size_t type = 0; type < kImportances.size(); ++type)
    if (is_any_due((*importance_names_)[type])) wanted.push_back(type);
  return wanted;
}

std::vector<Watch::State::Importance> Watch::State::importance() {
  const std::vector<std::size_t> wanted = wanted_importances();
  if (wanted.empty()) return {};
  require_trees();
  std::vector<Importance> result;
  for (const std::size_t type : wanted) {
    const Scores scores = feature_scores(booster_, kImportances[type], features().size());
    double sum = 0;
    for (const auto& [feature, score] : scores) sum += static_cast<double>(score);
    for (const auto& [feature, score] : scores)
      result.push_back(
          {(*importance_names_)[type].tensors[feature], static_cast<double>(score) / sum});
  }
  return result;
}

void Watch::State::save_importance() {
  if (is_left_out(Part::FeatureImportance) || !may_be_due(Part::FeatureImportance)) return;
  if (const auto shares = computed(Part::FeatureImportance, [&] { return importance(); }))
    for (const auto& [tensor, share] : *shares) save(tensor, TensorView(&share, {1}));
}

// ---- Contributions of features

bool Watch::State::wants_average_shap() {
  if (is_left_out(Part::AverageShap) || !may_be_due(Part::AverageShap)) return false;
  const auto wants = computed(Part::AverageShap, [&] {
    if (!average_shap_names_) {
      std::vector<std::string> names{std::string(kAverageShap) + kBias};
      for (const std::string& feature : features().names) names.push_back(kAverageShap + feature);
      Names all = named(std::move(names));
      if (features().size() == 0) return is_any_due(all);
      average_shap_names_ = std::move(all);
    }
    return is_any_due(*average_shap_names_);
  });
  return wants.value_or(false);
}

// The contributions are computed once, for both collections.
void Watch::State::save_contributions() {
  const bool wants_average = wants_average_shap();
  const bool wants_full = !is_left_out(Part::FullShap) && hook_.would_save(kFullShap);
  if (!wants_average && !wants_full) return;
  const auto leave_out_both = [&](std::string_view why) {
    if (wants_average) leave_out(Part::AverageShap, why);
    if (wants_full) leave_out(Part::FullShap, why);
  };
  if (options_.train_data == nullptr) return leave_out_both("the watch has no train_data");
  Values contributions;
  try {
    contributions = predict(booster_, options_.train_data, Predict::Contributions);
    const Shape& shape = contributions.shape;
    if (shape.rank() < 2 ||
        shape[shape.rank() - 1] != static_cast<std::int64_t>(features().size()) + 1)
      throw LibraryError("XGBoost gives contributions of the shape " + to_string(shape) + " for " +
                         std::to_string(features().size()) + " features");
  } catch (const std::exception& error) {
    return leave_out_both(error.what());
  }
  if (wants_full) save(kFullShap, TensorView(contributions.values.data(), contributions.shape));
  if (wants_average) save_average_shap(contributions);
}

void Watch::State::save_average_shap(const Values& contributions) {
  const auto means = computed(Part::AverageShap, [&] {
    if (contributions.values.empty()) throw LibraryError("train_data has no rows");
    return means_of_columns(contributions.values, features().size() + 1);
  });
  if (!means) return;
  bool is_bias_a_feature = false;
  for (std::size_t feature = 0; feature < features().size(); ++feature) {
    const std::string& name = features().names[feature];
    is_bias_a_feature = is_bias_a_feature || name == kBias;
    save(kAverageShap + name, TensorView(&(*means)[feature], {1}));
  }
  if (!is_bias_a_feature) save(std::string(kAverageShap) + kBias, TensorView(&means->back(), {1}));
}

// ---- Trees

// The number of the iteration is no place in the model: a continued training counts from 0 again.
TreeTable Watch::State::trees_of_last_round() {
  TreeTable table;
  const int rounds = count_rounds(booster_);
  if (rounds < 1) return table;
  require_trees();
  const OwnedBooster layer = last_layer(booster_, rounds);
  const std::vector<std::string_view> dumps = dump_trees(layer.get(), features().types);
  auto tree = static_cast<std::int64_t>(dumps.size()) * (rounds - 1);
  for (const std::string_view dump : dumps) table.add(tree++, dump, features().names);
  return table;
}

void Watch::State::save_trees() {
  if (is_left_out(Part::Trees)) return;
  std::array<std::string, TreeTable::kColumns.size()> names;
  bool is_wanted = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = "trees/" + std::string(TreeTable::kColumns[i]);
    is_wanted = is_wanted || hook_.would_save(names[i]);
  }
  if (!is_wanted) return;
  const auto table = computed(Part::Trees, [&] { return trees_of_last_round(); });
  if (!table) return;
  for (std::size_t i = 0; i < names.size(); ++i) save(names[i], table->column(i));
}

// ---- The watch

Watch::Watch(Hook& hook, void* booster, WatchOptions options)
    : state_(std::make_unique<State>(hook, booster, std::move(options))) {}

Watch::~Watch() = default;

bool Watch::after_iteration(int iteration) { return state_->save_iteration(iteration, nullptr); }

bool Watch::after_iteration(int iteration, std::string_view evaluation) {
  return state_->save_iteration(iteration, &evaluation);
}

}  // namespace cupel::xgboost
