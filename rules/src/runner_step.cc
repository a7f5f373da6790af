#include "runner_step.h"

#include <exception>
#include <utility>

#include "cupel/core/error.h"
#include "exception_text.h"

namespace cupel::runner_detail {
namespace {

template <class Judge>
Outcome outcome_of(Judge judge) {
  Outcome outcome;
  const auto ended_by = [&outcome](Outcome::Kind kind, const std::exception& error) {
    outcome.kind = kind;
    outcome.message = exception_text(error);
  };
  try {
    outcome.verdict = judge();
    if (!outcome.verdict.why_to_ask_again().empty()) {
      outcome.kind = Outcome::Kind::NotYet;
      outcome.message = outcome.verdict.why_to_ask_again();
    } else if (outcome.verdict.fired()) {
      outcome.kind = Outcome::Kind::Fired;
    }
    outcome.last = outcome.verdict.ends_rule();
  } catch (const RuleEvaluationConditionMet& fired) {
    outcome.kind = Outcome::Kind::Fired;
    outcome.message = fired.what();
    outcome.last = fired.end_of_rule;
  } catch (const StepUnavailable& error) {
    ended_by(Outcome::Kind::Skipped, error);
  } catch (const TensorUnavailable& error) {
    ended_by(Outcome::Kind::Skipped, error);
  } catch (const TensorUnavailableForStep& error) {
    ended_by(Outcome::Kind::Skipped, error);
  } catch (const DamagedValue& damage) {
    ended_by(Outcome::Kind::Skipped, damage);
    outcome.damaged = true;
  } catch (const StoreError& error) {
    // What a store cannot give for a moment is asked for again.
    ended_by(error.retryable ? Outcome::Kind::NotYet : Outcome::Kind::Failed, error);
  } catch (const std::exception& error) {
    ended_by(Outcome::Kind::Failed, error);
  } catch (...) {
    outcome.kind = Outcome::Kind::Failed;
    outcome.message = "an exception that is not a std::exception";
  }
  if (outcome.kind == Outcome::Kind::Failed) outcome.last = true;
  return outcome;
}

}  // namespace

Outcome outcome_at_step(Rule& rule, const Step& step) {
  if (step.rewound) return {.kind = Outcome::Kind::Rewound};
  return outcome_of([&] { return rule.evaluate(step.step, step.snapshot); });
}

Outcome outcome_of_tick(Rule& rule, std::chrono::steady_clock::time_point now,
                        std::shared_ptr<const Snapshot> snapshot) {
  return outcome_of([&] { return rule.evaluate_tick(now, std::move(snapshot)); });
}

Outcome outcome_of_end(Rule& rule, std::shared_ptr<const Snapshot> snapshot) {
  return outcome_of([&] { return rule.evaluate_end(std::move(snapshot)); });
}

}  // namespace cupel::runner_detail
