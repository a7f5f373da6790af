// The messages of all exceptions. Fixed text comes first and the values last, so that messages can
// be searched for; names that strangers chose are cut and escaped by printable(). Any thread; only
// a lack of memory makes these functions fail.

#include "cupel/core/error.h"

#include <utility>

#include "cupel/core/printable.h"

namespace cupel {
namespace {

std::string at_step(std::int64_t step, Mode mode) {
  return "step " + std::to_string(step) + ", mode " + std::string(to_string(mode));
}

std::string detailed(std::string message, std::string_view detail) {
  if (!detail.empty()) message.append(": ").append(detail);
  return message;
}

std::string place_text(const std::string& location, const std::string& key) {
  if (location.empty()) return "key " + key;
  return key.empty() ? location : location + ", key " + key;
}

std::string tensor_message(const std::string& tensor, std::int64_t step, Mode mode,
                           bool has_reductions, std::string_view detail) {
  std::string message =
      "The tensor is unavailable for this step: tensor " + tensor + ", " + at_step(step, mode);
  if (has_reductions) message += " (its reductions were saved)";
  return detailed(std::move(message), detail);
}

}  // namespace

InvalidCollectionConfiguration::InvalidCollectionConfiguration(std::string collection_name,
                                                               std::string_view hint)
    : UsageError("The collection has neither patterns nor tensor names: collection " +
                 printable(collection_name) + std::string(hint)),
      name(std::move(collection_name)) {}

StepNotYetAvailable::StepNotYetAvailable(std::int64_t missing_step, Mode step_mode)
    : Error("The step is not yet available: " + at_step(missing_step, step_mode)),
      step(missing_step),
      mode(step_mode) {}

StepUnavailable::StepUnavailable(std::int64_t missing_step, Mode step_mode)
    : Error("The step was not saved and never will be: " + at_step(missing_step, step_mode)),
      step(missing_step),
      mode(step_mode) {}

NoMoreData::NoMoreData(std::int64_t missing_step, Mode step_mode, std::int64_t last_available_step)
    : Error("Training has ended before this step: " + at_step(missing_step, step_mode) +
            ", last step " + std::to_string(last_available_step)),
      step(missing_step),
      mode(step_mode),
      last_step(last_available_step) {}

TensorUnavailable::TensorUnavailable(std::string tensor_name)
    : Error("The tensor has not been saved so far: tensor " + tensor_name),
      name(std::move(tensor_name)) {}

TensorUnavailableForStep::TensorUnavailableForStep(std::string tensor_name,
                                                   std::int64_t missing_step, Mode step_mode,
                                                   bool reductions_were_saved,
                                                   std::string_view detail)
    : Error(tensor_message(tensor_name, missing_step, step_mode, reductions_were_saved, detail)),
      name(std::move(tensor_name)),
      step(missing_step),
      mode(step_mode),
      has_reductions(reductions_were_saved) {}

ShapeUnavailableForStep::ShapeUnavailableForStep(std::string tensor_name, std::int64_t missing_step,
                                                 Mode step_mode, bool reductions_were_saved)
    : TensorUnavailableForStep(std::move(tensor_name), missing_step, step_mode,
                               reductions_were_saved, "neither shape nor value was saved") {}

MissingCollectionFiles::MissingCollectionFiles(std::string run_location, std::string_view detail)
    : Error(detailed("Collections files are missing: run " + run_location, detail)),
      run(std::move(run_location)) {}

InvalidWorker::InvalidWorker(std::string worker_name)
    : Error("No such worker saved anything in this run: worker " + worker_name),
      worker(std::move(worker_name)) {}

FormatError::FormatError(std::string damaged_file, std::uint64_t damaged_offset,
                         std::string_view what_is_wrong)
    : IndexReaderException(detailed("The file is damaged or foreign: " + damaged_file +
                                        ", offset " + std::to_string(damaged_offset),
                                    what_is_wrong)),
      file(std::move(damaged_file)),
      offset(damaged_offset),
      problem(what_is_wrong) {}

StoreError::StoreError(std::string object_key, bool may_be_retried, std::string_view what_failed,
                       std::string store_location)
    : Error(detailed("The store failed: " + place_text(store_location, object_key), what_failed)),
      key(std::move(object_key)),
      retryable(may_be_retried),
      location(std::move(store_location)) {}

StoreFull::StoreFull(std::string object_key, std::string_view what_failed,
                     std::string store_location)
    : StoreError(std::move(object_key), true, what_failed, std::move(store_location)) {}

RuleEvaluationConditionMet::RuleEvaluationConditionMet(std::string rule_name,
                                                       std::int64_t fired_step, bool ends_rule)
    : Error("The condition of the rule was met: rule " + rule_name + ", step " +
            std::to_string(fired_step)),
      rule(std::move(rule_name)),
      step(fired_step),
      end_of_rule(ends_rule) {}

InsufficientInformationForRuleInvocation::InsufficientInformationForRuleInvocation(
    std::string rule_name, std::string_view what_is_missing)
    : UsageError(detailed("The rule lacks what it needs: rule " + rule_name, what_is_missing)),
      rule(std::move(rule_name)) {}

}  // namespace cupel
