#include "cupel/rules/rule_evaluation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cupel/core/natural_order.h"
#include "cupel/core/number_text.h"

namespace cupel {
namespace {

template <class Item>
void sort_by_tensor_and_worker(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    if (a.tensor != b.tensor) return a.tensor < b.tensor;
    return natural_less(a.worker, b.worker);
  });
}

}  // namespace

Verdict RuleEvaluation::at_step(std::int64_t step, std::shared_ptr<const Snapshot> snapshot) const {
  // Asking whether a run has ended refreshes it, if its store has announced news.
  for (const Trial* other : rule_.other_views_) static_cast<void>(other->ended());
  return judged(std::move(snapshot), step, [&] { return rule_.invoke_at_step(step); });
}

Verdict RuleEvaluation::at_tick(std::chrono::steady_clock::time_point now,
                                std::shared_ptr<const Snapshot> snapshot) const {
  return judged(std::move(snapshot), std::nullopt, [&] { return rule_.on_tick(now); });
}

Verdict RuleEvaluation::at_end(std::shared_ptr<const Snapshot> snapshot) const {
  return judged(std::move(snapshot), std::nullopt, [&] { return rule_.on_end(); });
}

void RuleEvaluation::set_explaining(bool on) const noexcept { rule_.explaining_ = on; }

template <class Judge>
Verdict RuleEvaluation::judged(std::shared_ptr<const Snapshot> snapshot,
                               std::optional<std::int64_t> step, Judge judge) const {
  const PinnedView pin(*rule_.base_, std::move(snapshot), step);
  const NoRefresh other_pins(rule_.other_views_);
  Verdict verdict = judge();
  complete(verdict, step);
  return verdict;
}

void RuleEvaluation::complete(Verdict& verdict, std::optional<std::int64_t> step) const {
  for (Finding& finding : verdict.findings_) {
    if (finding.worker.empty() && step) {
      if (const auto tensor = rule_.base_->find_tensor(finding.tensor)) {
        const std::vector<TensorRecord> records = tensor->records(*step);
        if (!records.empty()) finding.worker = records.front().worker;
      }
    }
    if (finding.message.empty())
      finding.message =
          "value " + short_text(finding.value) + ", threshold " + short_text(finding.threshold);
  }
  sort_by_tensor_and_worker(verdict.findings_);
  sort_by_tensor_and_worker(verdict.skips_);
  sort_by_tensor_and_worker(verdict.observations_);
}

}  // namespace cupel
