#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "cupel/rules/rule.h"

namespace cupel {

/// Evaluates a rule against snapshots of its base trial, as RuleRunner does; for tests of rules and
/// for runners of a program's own.
///
///     RuleEvaluation evaluation(*rule);
///     const Verdict verdict = evaluation.at_step(10, RunFollower(trial).snapshot());
///
/// While a rule is evaluated, base_trial() is pinned to the snapshot, and other_trials() to what
/// they show when it begins. Findings, skips and observations are sorted by tensor, then worker
/// (worker_2 before worker_10), and findings have worker and message. What the rule throws is let
/// out. The object borrows the rule and has no state; one thread at a time evaluates a rule.
class RuleEvaluation {
 public:
  explicit RuleEvaluation(Rule& rule) noexcept : rule_(rule) {}

  /// Evaluates a step that the snapshot has; the rule sees nothing behind that step.
  Verdict at_step(std::int64_t step, std::shared_ptr<const Snapshot> snapshot) const;
  /// Evaluates Rule::on_tick(), which sees everything that the snapshot has.
  Verdict at_tick(std::chrono::steady_clock::time_point now,
                  std::shared_ptr<const Snapshot> snapshot) const;
  /// Evaluates Rule::on_end(), which sees everything that the snapshot has.
  Verdict at_end(std::shared_ptr<const Snapshot> snapshot) const;

  /// Makes the verdicts of the rule carry observations, or not.
  void set_explaining(bool on) const noexcept;

 private:
  template <class Judge>
  Verdict judged(std::shared_ptr<const Snapshot> snapshot, std::optional<std::int64_t> step,
                 Judge judge) const;
  void complete(Verdict& verdict, std::optional<std::int64_t> step) const;
  Rule& rule_;
};

}  // namespace cupel
