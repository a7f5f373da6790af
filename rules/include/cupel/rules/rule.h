#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/rules/verdict.h"
#include "cupel/trial/trial.h"

namespace cupel {

/// A condition over a run, evaluated step by step. Derive, inherit the constructor, write
/// invoke_at_step.
///
/// While a step is evaluated, base_trial() and other_trials() are pinned to one snapshot each, and
/// base_trial() shows nothing behind that step, so that a rule says the same live and afterwards. A
/// rule object is used by one thread at a time and may keep state in its members; it is called with
/// growing steps.
class Rule {
 public:
  /// Borrows the trials, which must outlive the rule.
  explicit Rule(Trial& base, const std::vector<Trial*>& others = {});
  virtual ~Rule();
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  /// Judges a global step. Missing data may be let through: StepUnavailable, TensorUnavailable and
  /// TensorUnavailableForStep skip the step, as does DamagedValue, which the rule's closing line
  /// names; every other exception ends the rule with status Error.
  virtual Verdict invoke_at_step(std::int64_t step) = 0;

  /// Called about once a second by a runner that waits for data, when the rule has judged all that
  /// is there; what it finds is said of the step that was judged last. Finds nothing unless it is
  /// overridden.
  virtual Verdict on_tick(std::chrono::steady_clock::time_point now);
  /// Called once when the last step has been judged; likewise.
  virtual Verdict on_end();

  /// What the rule is called in lines and messages; default: the name of its class.
  virtual std::string rule_name() const;

  /// What the rule would look at, for the message when it saw nothing in its first saved steps.
  virtual std::string what_it_reads() const { return "what its code asks for"; }

  /// Whether it says the same of a step whichever step it was given first, because it looks back by
  /// itself. A runner that goes on after a restart judges the steps before once more, in silence,
  /// for rules that do not.
  virtual bool looks_back_by_itself() const { return false; }
  /// Whether training is to be stopped when it fires, beside the actions that a runner was given.
  virtual bool stops_training() const { return false; }

  /// The rule's own view of the run.
  Trial& base_trial() const noexcept { return *base_; }
  const std::vector<Trial*>& other_trials() const noexcept { return other_views_; }

  /// Waits until the fate of the step is known (StepUnavailable, NoMoreData), evaluates it against
  /// one snapshot and throws RuleEvaluationConditionMet if the verdict fired; else returns the
  /// verdict.
  Verdict invoke(std::int64_t step);

  /// Evaluates a step that is known to be there against a snapshot of the base trial. Of what
  /// invoke_at_step returned, findings, skips and observations come back sorted by tensor, then
  /// worker (worker_2 before worker_10), and findings with worker and message filled in.
  Verdict evaluate(std::int64_t step, std::shared_ptr<const Snapshot> snapshot);
  /// The same of on_tick() and on_end(), which see everything that the snapshot has.
  Verdict evaluate_tick(std::chrono::steady_clock::time_point now,
                        std::shared_ptr<const Snapshot> snapshot);
  Verdict evaluate_end(std::shared_ptr<const Snapshot> snapshot);

  /// Whether verdicts should carry observations.
  bool explaining() const noexcept { return explaining_; }
  void set_explaining(bool on) noexcept { explaining_ = on; }

 private:
  template <class Judge>
  Verdict judged(std::shared_ptr<const Snapshot> snapshot, std::optional<std::int64_t> step,
                 Judge judge);
  void complete(Verdict& verdict, std::optional<std::int64_t> step) const;
  std::unique_ptr<Trial> base_;
  std::vector<std::unique_ptr<Trial>> others_;
  std::vector<Trial*> other_views_;
  bool explaining_ = false;
};

struct InvokeOptions {
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step = std::nullopt;  ///< Exclusive.
  bool raise_eval_cond = false;  ///< Let RuleEvaluationConditionMet out at the first firing.
};

/// Invokes a rule at global steps start_step, start_step + 1, … as they come. Steps that were not
/// saved and tensors that are missing are passed over. Without end_step the normal end is
/// NoMoreData, which is let out; every other error is let out too.
void invoke_rule(Rule& rule, const InvokeOptions& options = {});

}  // namespace cupel
