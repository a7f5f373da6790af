#pragma once

#include <cstdint>
#include <vector>

#include "cupel/rules/preferred_selection.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/run_memory.h"
#include "cupel/rules/tensor_copy.h"

namespace cupel {

/// A rule that judges tensors one by one, each worker's copy by itself, each step by itself.
///
/// Derive and write judge(). The rule selects the tensors of its first need, by a
/// PreferredSelection; steps of other modes than the need asks for, and steps without any of these
/// tensors, are not applicable.
/// examples/my_rule.cc is a whole rule of this kind.
class TensorRule : public Rule {
 public:
  /// The first of `needs` chooses the tensors and the modes; throws UsageError where there is none.
  /// Borrows the trials, which must outlive the rule.
  TensorRule(Trial& base, const RuleNeeds& needs, const std::vector<Trial*>& others = {});

  Verdict invoke_at_step(std::int64_t step) override;
  bool looks_back_by_itself() const override { return true; }

 protected:
  /// Judges one copy, and reports the result through it. Copies come by tensor, then worker.
  virtual void judge(TensorCopy& copy) = 0;
  /// Called before anything of a step is judged. `judged` is the mode whose steps count; Global
  /// stands for all of them.
  virtual void prepare(std::int64_t step, Mode judged);

  /// The tensors that the rule selects at the step that is judged.
  NameSelection& names() noexcept { return names_.names(); }
  /// Whether a record that names() selects counts.
  bool counts(const RecordView& record) const { return names_.counts(record); }

 private:
  friend class HistoryRule;
  std::vector<Mode> modes_;
  PreferredSelection names_;
  bool chose_anew_ = false;  // names() selects other tensors than at the step before
};

/// A TensorRule that compares with earlier steps.
///
/// Derive and write judge_with_history(), remember() and forget(). Before a step is judged, every
/// earlier step of the judged mode was remembered, in order, whichever step the rule was given
/// first: the rule reports the same live, afterwards, and after a restart. Where the rule selects
/// other tensors from a step on, it forgets, and remembers those.
class HistoryRule : public TensorRule {
 public:
  using TensorRule::TensorRule;

 protected:
  /// Takes in a copy at a step of the judged mode; of the step that is judged, after its judgement.
  virtual void remember(const RecordView& record) = 0;
  /// Drops everything that was remembered: the run was rewound, or another mode is judged.
  virtual void forget() = 0;
  /// Judges one copy, with every step before it remembered.
  virtual void judge_with_history(TensorCopy& copy) = 0;
  /// The mode whose steps count; Global stands for all of them.
  Mode judged() const noexcept { return judged_; }

 private:
  void prepare(std::int64_t step, Mode judged) final;
  void judge(TensorCopy& copy) final;
  Mode judged_ = Mode::Global;
  RunMemory memory_;
};

}  // namespace cupel
