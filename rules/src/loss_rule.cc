#include "loss_rule.h"

#include <cmath>
#include <utility>

namespace cupel {

namespace {
constexpr Reduction kLossMean{ReductionOp::Mean, false};
}

LossRule::LossRule(Trial& base, std::string_view name, const RuleNeeds& needs)
    : Detector(base, name, needs),
      tensors_(needs.tensors.front().tensors.description()),
      names_(needs.tensors.front().tensors.collections, needs.tensors.front().tensors.patterns) {}

Verdict LossRule::invoke_at_step(std::int64_t step) {
  memory_.bring_before(
      step, base_trial(), names_, [this] { forget(); },
      [this](const RecordView& record) {
        Verdict unheard;
        add(record, unheard, nullptr);
      });
  finish(nullptr);

  Verdict verdict;
  const std::size_t selected = base_trial().visit_step(
      step, names_, [&](const RecordView& record) { add(record, verdict, &verdict); });
  finish(&verdict);
  if (selected == 0) verdict.not_applicable("nothing of " + tensors_ + " was saved at this step");
  return verdict;
}

// Records come by step, then tensor, then worker.
void LossRule::add(const RecordView& record, Verdict& verdict, Verdict* judged) {
  if (open_ && (open_->tensor != &record.tensor() || open_->step != record.step())) finish(judged);
  TensorCopy copy(*this, record, verdict);
  if (!copy.has_numbers()) return;
  const auto mean = copy.number(kLossMean);
  if (!mean) return;
  if (!open_)
    open_ = Loss{&record.tensor(),
                 record.step(),
                 record.mode(),
                 record.mode_step(),
                 0,
                 record.worker(),
                 0,
                 *mean};
  open_->value += mean->value;
  ++open_->workers;
}

void LossRule::finish(Verdict* judged) {
  if (!open_) return;
  Loss loss = *std::exchange(open_, std::nullopt);
  loss.value /= loss.workers;
  take(loss, judged);
}

void LossRule::tell(Verdict& verdict, const Loss& loss, bool fired, double value, double threshold,
                    Words words) const {
  if (explaining()) {
    std::string read(loss.source.origin_text());
    if (loss.workers > 1) read += ", mean of " + std::to_string(loss.workers) + " workers";
    verdict.observe({.tensor = *loss.tensor,
                     .worker = std::string(loss.worker),
                     .read = std::move(read),
                     .compared = std::move(words.compared),
                     .fired = fired});
  }
  if (fired)
    verdict.add({.tensor = *loss.tensor,
                 .worker = std::string(loss.worker),
                 .value = value,
                 .threshold = threshold,
                 .message = std::move(words.message)});
}

double percentage_base(double value) noexcept {
  constexpr double kInsteadOfZero = 1e-12;
  return value == 0 ? kInsteadOfZero : std::abs(value);
}

}  // namespace cupel
