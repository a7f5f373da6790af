#include "runner_step.h"

#include <exception>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/rules/rule_evaluation.h"
#include "exception_text.h"

namespace cupel::rules_detail {
namespace {

Outcome of_verdict(Verdict verdict) {
  Outcome outcome = {.what = Judged(), .last = verdict.ends_rule()};
  if (!verdict.why_to_ask_again().empty()) {
    outcome.what = NotYet{verdict.why_to_ask_again()};
  } else if (verdict.fired()) {
    outcome.what = Fired();
  }
  outcome.verdict = std::move(verdict);
  return outcome;
}

Outcome skipped(const std::exception& error, bool damaged = false) {
  return {.what = Skipped{exception_text(error), damaged}};
}
Outcome failed(std::string error) { return {.what = Failed{std::move(error)}, .last = true}; }

template <class Judge>
Outcome outcome_of(Judge judge) {
  try {
    return of_verdict(judge());
  } catch (const RuleEvaluationConditionMet& fired) {
    return {.what = Fired{fired.what()}, .last = fired.end_of_rule};
  } catch (const StepUnavailable& error) {
    return skipped(error);
  } catch (const TensorUnavailable& error) {
    return skipped(error);
  } catch (const TensorUnavailableForStep& error) {
    return skipped(error);
  } catch (const DamagedValue& error) {
    return skipped(error, true);
  } catch (const StoreError& error) {
    // A store that fails for a moment may answer later.
    if (error.retryable) return {.what = NotYet{exception_text(error)}};
    return failed(exception_text(error));
  } catch (const std::exception& error) {
    return failed(exception_text(error));
  } catch (...) {
    return failed("an exception that is not a std::exception");
  }
}

}  // namespace

Outcome outcome_at_step(Rule& rule, const Step& step) {
  return outcome_of([&] { return RuleEvaluation(rule).at_step(step.step, step.snapshot); });
}

Outcome outcome_of_tick(Rule& rule, std::chrono::steady_clock::time_point now,
                        std::shared_ptr<const Snapshot> snapshot) {
  return outcome_of([&] { return RuleEvaluation(rule).at_tick(now, std::move(snapshot)); });
}

Outcome outcome_of_end(Rule& rule, std::shared_ptr<const Snapshot> snapshot) {
  return outcome_of([&] { return RuleEvaluation(rule).at_end(std::move(snapshot)); });
}

}  // namespace cupel::rules_detail
