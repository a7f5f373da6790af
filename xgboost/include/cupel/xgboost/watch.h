#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupel/writer/hook.h"

namespace cupel::xgboost {

/// The data and parameters that a Watch asks for values. Every field has a default; a collection
/// whose data are not given is left out, which is reported once if it is due. The collection
/// metrics is due by default.
///
/// The handles of data are DMatrixHandle. They are borrowed: each must stay alive as long as the
/// watch. XGBoost cannot recognise a handle that was freed, so that using one is undefined.
struct WatchOptions {
  /// The data that are evaluated, by name: the collections metrics and losses. "train" and
  /// "validation" are the names that rules know. A name may be any text; a name with "/" is in
  /// neither collection. A handle must not be null. Empty: none, and metrics are read only from a
  /// text that after_iteration() is given.
  std::vector<std::pair<std::string, void*>> evals = {};
  /// The data whose contributions are computed: the collections average_shap and full_shap. Null:
  /// none.
  void* train_data = nullptr;
  /// The data that are predicted: the collections predictions and labels. Null: none.
  void* validation_data = nullptr;
  /// The parameters of the training: the collection hyperparameters. A value that is a whole number
  /// is saved as i64, another number as f64, any other text as it is.
  std::map<std::string, std::string> hyperparameters = {};
};

/// Saves what XGBoost's C API shows of a training, one step for each iteration.
///
///     cupel::xgboost::Watch watch(hook, booster, {.evals = {{"train", dtrain}}});
///     for (int i = 0; i < 200; ++i) {
///       XGBoosterUpdateOneIter(booster, i, dtrain);
///       if (watch.after_iteration(i)) break;
///     }
///
/// Collections of the hook decide what is saved at which iterations (docs/frameworks.md lists the
/// tensors). What no collection wants at an iteration is not computed.
///
/// The watch borrows the hook, the booster and the data, and owns nothing but its own state: all of
/// them must outlive its calls; the order in which they are destroyed is free. Calls of a watch are
/// made by one thread at a time, and not beside other calls that use the booster. Several watches
/// may share a hook one after another, not at the same time.
///
/// Pointers that XGBoost returned for this booster, such as the text of XGBoosterEvalOneIter or
/// predictions, are void after after_iteration(), which calls XGBoost itself: copy what they point
/// to before. after_iteration() may be given such a text, and reads it before its first call.
///
/// Errors: where a call of XGBoost fails, the collection that needs it is left out from then on,
/// and the first line of XGBoost's message is a problem of the hook's report, once. Training goes
/// on. The watch throws nothing into training; the hook does if HookOptions::on_error is Throw.
class Watch {
 public:
  /// Watches `booster`, a BoosterHandle. Throws UsageError if the profile of the hook is not
  /// Profile::XGBoost, if `booster` is null, or if a handle of `evals` is.
  Watch(Hook& hook, void* booster, WatchOptions options = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Saves the step `iteration`; call it behind XGBoosterUpdateOneIter. The step is committed when
  /// the call returns, with the promises of Hook::end_step(). Evaluates those of
  /// `evals` of which a metric is due; not in distributed training, whose ranks have to evaluate
  /// together: give the text there.
  ///
  /// The first iteration that is not behind the last step of the hook begins a second training,
  /// whose steps go on behind that step; this is reported once.
  ///
  /// Returns true if a rule, or anybody else, has asked the training to stop.
  bool after_iteration(int iteration);
  /// Does the same with the text that XGBoosterEvalOneIter gave for this iteration: metrics are
  /// read from it, under the names in it, and nothing is evaluated.
  bool after_iteration(int iteration, std::string_view evaluation);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel::xgboost
