#include "cupel/rules/tensor_rule.h"

#include "first_need.h"
#include "judged_mode.h"

namespace cupel {

using namespace rules_detail;

TensorRule::TensorRule(Trial& base, const RuleNeeds& needs, const std::vector<Trial*>& others)
    : Rule(base, others),
      modes_(needs.tensors.empty() ? std::vector<Mode>() : needs.tensors.front().modes),
      names_(first_tensors(needs)) {}

Verdict TensorRule::invoke_at_step(std::int64_t step) {
  Verdict verdict;
  const Mode judged = judged_mode(base_trial(), modes_);
  if (judged != Mode::Global) {
    const Mode mode = base_trial().mode(step).value_or(Mode::Global);
    if (mode != judged) {
      verdict.not_applicable("the rule judges the steps of " + std::string(to_string(judged)) +
                             ", and this is one of " + std::string(to_string(mode)));
      return verdict;
    }
  }
  chose_anew_ = names_.choose(step, base_trial());
  prepare(step, judged);
  std::size_t selected = 0;
  base_trial().visit_step(step, names(), [&](const RecordView& record) {
    if (!counts(record)) return;
    ++selected;
    TensorCopy copy(*this, record, verdict);
    judge(copy);
  });
  if (selected == 0)
    verdict.not_applicable("nothing of " + names_.description() + " was saved at this step");
  return verdict;
}

void TensorRule::prepare(std::int64_t /*step*/, Mode /*judged*/) {}

void HistoryRule::prepare(std::int64_t step, Mode judged) {
  if (judged != judged_ || chose_anew_) memory_.start_over();
  judged_ = judged;
  memory_.bring_before(
      step, base_trial(), names(), [this] { forget(); },
      [this](const RecordView& record) {
        if (counts(record) && is_judged(record.mode(), judged_)) remember(record);
      });
}

void HistoryRule::judge(TensorCopy& copy) {
  judge_with_history(copy);
  remember(copy.record());
}

}  // namespace cupel
