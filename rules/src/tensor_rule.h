#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "detector.h"
#include "run_memory.h"
#include "tensor_copy.h"

namespace cupel {

/// A rule that judges tensors one by one, each worker's copy by itself. Derive, write judge().
class TensorRule : public Detector {
 public:
  /// The first need says which tensors, and which modes' steps; `name` lives as long as the rule.
  TensorRule(Trial& base, std::string_view name, const RuleNeeds& needs,
             const std::vector<Trial*>& others = {});

  Verdict invoke_at_step(std::int64_t step) override;

 protected:
  virtual void judge(TensorCopy& copy) = 0;
  /// Called before anything of a step is judged, or remembered; `judged` is the mode that counts.
  virtual void prepare(std::int64_t step, Mode judged);

  NameSelection& names() noexcept { return names_; }

 private:
  std::string tensors_;
  std::vector<Mode> modes_;
  NameSelection names_;
};

/// One that looks back at earlier steps, too. Derive, write judge(), remember() and forget().
class HistoryRule : public TensorRule {
 public:
  using TensorRule::TensorRule;

 protected:
  /// Takes in a copy at a step of the judged mode, the step that is judged after it was judged.
  virtual void remember(const RecordView& record) = 0;
  /// Drops everything that was remembered.
  virtual void forget() = 0;
  /// Judges with everything before the step remembered.
  virtual void judge_with_history(TensorCopy& copy) = 0;
  Mode judged() const noexcept { return judged_; }

 private:
  void prepare(std::int64_t step, Mode judged) final;
  void judge(TensorCopy& copy) final;
  Mode judged_ = Mode::Global;
  RunMemory memory_;
};

}  // namespace cupel
