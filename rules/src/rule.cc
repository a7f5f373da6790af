#include "cupel/rules/rule.h"

#include <algorithm>
#include <thread>
#include <typeinfo>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/number_text.h"
#include "exception_text.h"
#include "natural_order.h"
#include "runner_step.h"

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

Rule::Rule(Trial& base, const std::vector<Trial*>& others) : base_(base.view()) {
  for (const Trial* other : others) {
    others_.push_back(other->view());
    other_views_.push_back(others_.back().get());
  }
}

Rule::~Rule() = default;

std::string Rule::rule_name() const { return class_name(typeid(*this)); }

Verdict Rule::invoke(std::int64_t step) {
  base_->wait_for_steps({step});
  Verdict verdict = evaluate(step, base_->snapshot());
  if (verdict.fired()) throw RuleEvaluationConditionMet(rule_name(), step, verdict.ends_rule());
  return verdict;
}

Verdict Rule::on_tick(std::chrono::steady_clock::time_point /*now*/) { return {}; }
Verdict Rule::on_end() { return {}; }

template <class Judge>
Verdict Rule::judged(std::shared_ptr<const Snapshot> snapshot, std::optional<std::int64_t> step,
                     Judge judge) {
  const PinnedView pin(*base_, std::move(snapshot), step);
  const NoRefresh other_pins(other_views_);
  Verdict verdict = judge();
  complete(verdict, step);
  return verdict;
}

Verdict Rule::evaluate(std::int64_t step, std::shared_ptr<const Snapshot> snapshot) {
  // To ask is to look for news, if the store tells of any.
  for (const Trial* other : other_views_) static_cast<void>(other->ended());
  return judged(std::move(snapshot), step, [&] { return invoke_at_step(step); });
}

Verdict Rule::evaluate_tick(std::chrono::steady_clock::time_point now,
                            std::shared_ptr<const Snapshot> snapshot) {
  return judged(std::move(snapshot), std::nullopt, [&] { return on_tick(now); });
}

Verdict Rule::evaluate_end(std::shared_ptr<const Snapshot> snapshot) {
  return judged(std::move(snapshot), std::nullopt, [&] { return on_end(); });
}

void Rule::complete(Verdict& verdict, std::optional<std::int64_t> step) const {
  for (Finding& finding : verdict.findings_) {
    if (finding.worker.empty() && step) {
      if (const auto tensor = base_->find_tensor(finding.tensor)) {
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

void invoke_rule(Rule& rule, const InvokeOptions& options) {
  std::int64_t step = std::max<std::int64_t>(options.start_step, 0);
  while (!options.end_step || step < *options.end_step) {
    std::int64_t next = step + 1;
    try {
      const Verdict verdict = rule.invoke(step);
      if (verdict.ends_rule()) return;
      if (!verdict.why_to_ask_again().empty()) {
        // Only time helps: the run that is waited for is not the one whose steps are.
        std::this_thread::sleep_for(runner_detail::kAskAgain);
        next = step;
      }
    } catch (const StepUnavailable& error) {
      log(LogLevel::Debug, error.what());
      // Steps up to the next saved one would say the same; behind the last one the run is asked.
      const std::vector<std::int64_t> saved = rule.base_trial().steps();
      const auto later = std::upper_bound(saved.begin(), saved.end(), step);
      if (later != saved.end()) next = *later;
    } catch (const TensorUnavailable& error) {
      log(LogLevel::Debug, error.what());
    } catch (const TensorUnavailableForStep& error) {
      log(LogLevel::Debug, error.what());
    } catch (const RuleEvaluationConditionMet& fired) {
      if (options.raise_eval_cond) throw;
      log(LogLevel::Info, fired.what());
      if (fired.end_of_rule) return;
    }
    step = next;
  }
}

}  // namespace cupel
