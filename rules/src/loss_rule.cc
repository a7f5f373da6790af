#include "cupel/rules/loss_rule.h"

#include <utility>

#include "first_need.h"
#include "plain_reductions.h"

namespace cupel {

using namespace rules_detail;

LossRule::LossRule(Trial& base, const RuleNeeds& needs)
    : Rule(base),
      tensors_(first_tensors(needs).description()),
      names_(first_tensors(needs).collections, first_tensors(needs).patterns) {}

Verdict LossRule::invoke_at_step(std::int64_t step) {
  memory_.bring_before(
      step, base_trial(), names_, [this] { forget(); },
      [this](const RecordView& record) {
        Verdict ignored;
        add(record, ignored, nullptr);
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
  const auto mean = copy.number(kMean);
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

void LossRule::report(Verdict& verdict, const Loss& loss, bool fired, double value,
                      double threshold, JudgementText text) const {
  if (explaining()) {
    std::string read(loss.source.origin_text());
    if (loss.workers > 1) read += ", mean of " + std::to_string(loss.workers) + " workers";
    verdict.observe({.tensor = *loss.tensor,
                     .worker = std::string(loss.worker),
                     .read = std::move(read),
                     .compared = std::move(text.compared),
                     .fired = fired});
  }
  if (fired)
    verdict.add({.tensor = *loss.tensor,
                 .worker = std::string(loss.worker),
                 .value = value,
                 .threshold = threshold,
                 .message = std::move(text.message)});
}

}  // namespace cupel
