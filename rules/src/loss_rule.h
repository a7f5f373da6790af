#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detector.h"
#include "run_memory.h"
#include "tensor_copy.h"

namespace cupel {

/// A loss at one step: the mean of its elements, and of that over the workers that saved it.
struct Loss {
  const std::string* tensor = nullptr;  ///< The trial's own: one string for each name.
  std::int64_t step = 0;                ///< Global.
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  double value = 0;
  std::string_view worker;  ///< The first one.
  int workers = 0;
  TensorNumber source;  ///< How the first one's was read.
};

/// A rule that follows losses from the first step of the run on. Derive, write take() and forget().
class LossRule : public Detector {
 public:
  /// The first need says which tensors; `name` lives as long as the rule.
  LossRule(Trial& base, std::string_view name, const RuleNeeds& needs);

  Verdict invoke_at_step(std::int64_t step) override;

 protected:
  /// Takes the losses in, by step, then name. `verdict` is null for steps before the one that is
  /// judged.
  virtual void take(const Loss& loss, Verdict* verdict) = 0;
  /// Drops everything that was taken in.
  virtual void forget() = 0;

  /// Counts a judgement of a loss. `words()` gives its Words; called only if somebody reads them.
  template <class F>
  void judged(Verdict& verdict, const Loss& loss, bool fired, double value, double threshold,
              F&& words) const {
    verdict.count(1);
    if (fired || explaining()) tell(verdict, loss, fired, value, threshold, words());
  }
  /// The same of a loss that nothing is decided by; does nothing where `verdict` is null.
  void noted(Verdict* verdict, const Loss& loss, std::string_view reason) const {
    if (verdict == nullptr) return;
    verdict->remember(1);
    if (explaining()) tell(*verdict, loss, false, 0, 0, Words{{}, std::string(reason), {}});
  }

 private:
  void add(const RecordView& record, Verdict& verdict, Verdict* judged);
  void finish(Verdict* judged);
  void tell(Verdict& verdict, const Loss& loss, bool fired, double value, double threshold,
            Words words) const;

  std::string tensors_;
  NameSelection names_;
  RunMemory memory_;
  std::optional<Loss> open_;  // the one whose workers are still coming; value is their sum
};

/// The number that percentages are of: |value|, and not 0.
double percentage_base(double value) noexcept;

}  // namespace cupel
