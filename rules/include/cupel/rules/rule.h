#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/verdict.h"
#include "cupel/trial/trial.h"

namespace cupel {

namespace rules_detail {
struct RuleTexts;
}

/// What a rule reads whose needs are not known.
inline constexpr std::string_view kReadsUnknown = "what its code asks for";

/// A condition over a run, evaluated step by step. Derive, inherit the constructor, write
/// invoke_at_step(). TensorRule, HistoryRule and LossRule are bases that do more.
///
/// While a step is evaluated, base_trial() and other_trials() are pinned to one snapshot each, and
/// base_trial() shows nothing behind that step, so that a rule finds the same live and afterwards.
/// A rule object is used by one thread at a time and may keep state in its members; it is called
/// with growing steps.
class Rule {
 public:
  /// Borrows the trials, which must outlive the rule.
  explicit Rule(Trial& base, const std::vector<Trial*>& others = {});
  virtual ~Rule();
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  /// Judges a global step. StepUnavailable, TensorUnavailable and TensorUnavailableForStep, which
  /// the rule need not catch, skip the step, and so does DamagedValue, which the rule's closing
  /// line counts; every other exception ends the rule with status Error.
  virtual Verdict invoke_at_step(std::int64_t step) = 0;

  /// Called about once a second by a runner that waits for data, when the rule has judged all steps
  /// that are there. A finding is reported at the step that was judged last. Default: no findings.
  virtual Verdict on_tick(std::chrono::steady_clock::time_point now);
  /// Called once when the last step has been judged. A finding is reported at that step. Default:
  /// no findings.
  virtual Verdict on_end();

  /// The name of the rule in lines and messages. Default: the name of the definition that made the
  /// rule, else that of its class.
  virtual std::string rule_name() const;

  /// What the rule reads, for the message about a rule that saw nothing in its first saved steps.
  /// Default: the needs of the definition that made the rule, in words.
  virtual std::string what_it_reads() const { return reads_; }

  /// Whether the rule finds the same at a step whichever step it was given first, because it looks
  /// back by itself. For other rules, a runner that resumes after a restart judges the earlier
  /// steps once more, without reporting them. Default: false.
  virtual bool looks_back_by_itself() const { return false; }
  /// Whether the training is to be stopped when the rule fires, beside the actions that a runner
  /// was given. Default: false.
  virtual bool stops_training() const { return false; }

  /// The rule's own view of the run.
  Trial& base_trial() const noexcept { return *base_; }
  /// The rule's own views of the runs to compare with, in the order in which they were given.
  const std::vector<Trial*>& other_trials() const noexcept { return other_views_; }

  /// Whether verdicts are to carry observations (Verdict::observe).
  bool explaining() const noexcept { return explaining_; }

  /// Waits until the step is complete, and evaluates it. Throws RuleEvaluationConditionMet if the
  /// verdict fired; else returns the verdict. Throws StepUnavailable or NoMoreData where the step
  /// does not come.
  Verdict invoke(std::int64_t step);

 protected:
  /// Waits for invoke() until the base trial has the step; throws as Trial::wait_for_steps() does.
  /// A rule that needs to do more while it waits replaces it.
  virtual void wait_for_step(std::int64_t step) const;

 private:
  friend class RuleEvaluation;
  friend struct rules_detail::RuleTexts;
  std::unique_ptr<Trial> base_;
  std::vector<std::unique_ptr<Trial>> others_;
  std::vector<Trial*> other_views_;
  std::string name_;  // empty: the class's
  std::string reads_ = std::string(kReadsUnknown);
  bool explaining_ = false;
};

/// How invoke_rule() goes through a run.
struct InvokeOptions {
  std::int64_t start_step = 0;                          ///< The first global step to judge.
  std::optional<std::int64_t> end_step = std::nullopt;  ///< Exclusive.
  bool raise_eval_cond = false;  ///< Let RuleEvaluationConditionMet out at the first firing.
};

/// Invokes a rule at global steps start_step, start_step + 1, … as they come. Steps that were not
/// saved and tensors that are missing are passed over. Without end_step the normal end is
/// NoMoreData, which is let out; every other error is let out too.
void invoke_rule(Rule& rule, const InvokeOptions& options = {});

}  // namespace cupel
