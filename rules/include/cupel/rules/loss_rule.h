#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/run_memory.h"
#include "cupel/rules/tensor_copy.h"

namespace cupel {

/// A loss at one step: the mean of its elements, averaged over the workers that saved it.
struct Loss {
  const std::string* tensor = nullptr;  ///< The trial's own: one string for each name.
  std::int64_t step = 0;                ///< The global step.
  Mode mode = Mode::Global;             ///< The mode of the step.
  std::int64_t mode_step = 0;           ///< The step of the mode.
  double value = 0;                     ///< The mean.
  std::string_view worker;              ///< The first worker, by name, that saved the loss.
  int workers = 0;                      ///< The number of workers that saved the loss.
  TensorNumber source;                  ///< How the loss of the first worker was read.
};

/// A rule that follows losses from the first step of the run on.
///
/// Derive and write take() and forget(). The rule selects the tensors of its first need, averages
/// the elements of each and then the workers, and hands every loss of every step to take(), also
/// those before the first step that the rule was given.
class LossRule : public Rule {
 public:
  /// The first of `needs` chooses the losses; throws UsageError where there is none. Borrows the
  /// trial, which must outlive the rule.
  LossRule(Trial& base, const RuleNeeds& needs);

  bool looks_back_by_itself() const override { return true; }
  Verdict invoke_at_step(std::int64_t step) override;

 protected:
  /// Takes in a loss, and judges it where `verdict` is not null. Losses come by step, then name;
  /// `verdict` is null at steps before the one that is judged.
  virtual void take(const Loss& loss, Verdict* verdict) = 0;
  /// Drops everything that was taken in.
  virtual void forget() = 0;

  /// Counts a judgement of a loss, and reports a finding where the rule fired. `text()` returns a
  /// JudgementText, whose `read` is not used; it is called only where the rule fired or explains.
  template <class F>
  void judged(Verdict& verdict, const Loss& loss, bool fired, double value, double threshold,
              F&& text) const {
    verdict.count(1);
    if (fired || explaining()) report(verdict, loss, fired, value, threshold, text());
  }
  /// Counts a loss that is only remembered, and why; does nothing where `verdict` is null.
  void remembered(Verdict* verdict, const Loss& loss, std::string_view reason) const {
    if (verdict == nullptr) return;
    verdict->remember(1);
    if (explaining())
      report(*verdict, loss, false, 0, 0, JudgementText{{}, std::string(reason), {}});
  }

 private:
  void add(const RecordView& record, Verdict& verdict, Verdict* judged);
  void finish(Verdict* judged);
  void report(Verdict& verdict, const Loss& loss, bool fired, double value, double threshold,
              JudgementText text) const;

  std::string tensors_;
  NameSelection names_;
  RunMemory memory_;
  std::optional<Loss> open_;  // the loss whose workers are still coming; value is their sum
};

}  // namespace cupel
