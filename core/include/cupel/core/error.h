#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cupel/core/mode.h"

namespace cupel {

/// The root of everything cupel throws.
///
/// The leaves keep the names and fields of the SDK that users port from, so that a `catch` ports
/// with them. Messages begin with fixed text and end with the values that matter. Outcomes that a
/// careful caller expects are not thrown: for absence there is a function that returns an optional
/// (`find_tensor`), for steps one that returns a state (`has_passed_step`), and a rule that fires
/// returns a Verdict.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The caller's mistake: an illegal value, an unknown name, a call out of order.
struct UsageError : Error {
  using Error::Error;
};

/// A hook cannot write into its out_dir: none is given, or a finished run is there.
struct OutDirError : UsageError {
  using UsageError::UsageError;
};

/// A collection has neither patterns nor tensors, and its name is nearly that of a built-in one.
struct InvalidCollectionConfiguration : UsageError {
  /// `hint` ends the message: "; did you mean gradients?"
  explicit InvalidCollectionConfiguration(std::string collection_name, std::string_view hint = {});
  std::string name;
};

/// The step has not been seen yet and may still come: ask again.
struct StepNotYetAvailable : Error {
  StepNotYetAvailable(std::int64_t missing_step, Mode step_mode);
  std::int64_t step;
  Mode mode;
};

/// The run has passed this step without saving it; the step will never exist.
struct StepUnavailable : Error {
  StepUnavailable(std::int64_t missing_step, Mode step_mode);
  std::int64_t step;
  Mode mode;
};

/// Training has ended and there is nothing beyond `last_step` (-1: nothing at all).
struct NoMoreData : Error {
  NoMoreData(std::int64_t missing_step, Mode step_mode, std::int64_t last_available_step);
  std::int64_t step;
  Mode mode;
  std::int64_t last_step;
};

/// No committed step contains the tensor so far; it may appear later.
struct TensorUnavailable : Error {
  explicit TensorUnavailable(std::string tensor_name);
  std::string name;
};

/// The step exists; the requested data of the tensor do not, and never will.
struct TensorUnavailableForStep : Error {
  TensorUnavailableForStep(std::string tensor_name, std::int64_t missing_step, Mode step_mode,
                           bool reductions_were_saved, std::string_view detail = {});
  std::string name;
  std::int64_t step;
  Mode mode;
  bool has_reductions;  ///< Reductions of the tensor were saved at the step, the value was not.
};

/// Neither the shape nor the value of the tensor was saved at the step.
struct ShapeUnavailableForStep : TensorUnavailableForStep {
  ShapeUnavailableForStep(std::string tensor_name, std::int64_t missing_step, Mode step_mode,
                          bool reductions_were_saved);
};

/// The directory or prefix holds no collections file, or fewer than an ended run must have.
struct MissingCollectionFiles : Error {
  explicit MissingCollectionFiles(std::string run_location, std::string_view detail = {});
  std::string run;
};

/// No worker of this name saved anything in the run.
struct InvalidWorker : Error {
  explicit InvalidWorker(std::string worker_name);
  std::string worker;
};

/// A file of a run is not as the format demands; the base keeps the name of the ported SDK.
struct IndexReaderException : Error {
  using Error::Error;
};

/// Damage or foreign bytes, with the file and the place in it.
struct FormatError : IndexReaderException {
  FormatError(std::string damaged_file, std::uint64_t damaged_offset,
              std::string_view what_is_wrong);
  std::string file;
  std::uint64_t offset;
  std::string problem;  ///< What is wrong, without the place.
};

/// The damage is in one value of a run; the steps and the other values of the run are readable.
struct DamagedValue : FormatError {
  using FormatError::FormatError;
};

/// A store failed; `retryable` is true where the same call may succeed later.
struct StoreError : Error {
  StoreError(std::string object_key, bool may_be_retried, std::string_view what_failed,
             std::string store_location = {});
  std::string key;
  bool retryable;
  std::string location;  ///< Of the store: a directory or a URL; empty where the key says it all.
};

/// The medium has no room for the bytes to be written; the object is as it was before the call.
struct StoreFull : StoreError {
  StoreFull(std::string object_key, std::string_view what_failed, std::string store_location = {});
};

/// Thrown by Rule::invoke when the rule's condition is met (see rule.h; the runner returns lines
/// instead).
struct RuleEvaluationConditionMet : Error {
  RuleEvaluationConditionMet(std::string rule_name, std::int64_t fired_step,
                             bool ends_rule = false);
  std::string rule;
  std::int64_t step;
  bool end_of_rule;
};

/// A rule was configured without what it needs to select tensors.
struct InsufficientInformationForRuleInvocation : UsageError {
  InsufficientInformationForRuleInvocation(std::string rule_name, std::string_view what_is_missing);
  std::string rule;
};

}  // namespace cupel
