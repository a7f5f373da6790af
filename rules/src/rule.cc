#include "cupel/rules/rule.h"

#include <algorithm>
#include <thread>
#include <typeinfo>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/trial/run_follower.h"
#include "exception_text.h"
#include "runner_step.h"

namespace cupel {

using namespace rules_detail;

Rule::Rule(Trial& base, const std::vector<Trial*>& others) : base_(base.view()) {
  for (const Trial* other : others) {
    others_.push_back(other->view());
    other_views_.push_back(others_.back().get());
  }
}

Rule::~Rule() = default;

std::string Rule::rule_name() const { return name_.empty() ? class_name(typeid(*this)) : name_; }

void Rule::wait_for_step(std::int64_t step) const { base_->wait_for_steps({step}); }

Verdict Rule::invoke(std::int64_t step) {
  wait_for_step(step);
  Verdict verdict = RuleEvaluation(*this).at_step(step, RunFollower(*base_).snapshot());
  if (verdict.fired()) throw RuleEvaluationConditionMet(rule_name(), step, verdict.ends_rule());
  return verdict;
}

Verdict Rule::on_tick(std::chrono::steady_clock::time_point /*now*/) { return {}; }
Verdict Rule::on_end() { return {}; }

void invoke_rule(Rule& rule, const InvokeOptions& options) {
  std::int64_t step = std::max<std::int64_t>(options.start_step, 0);
  while (!options.end_step || step < *options.end_step) {
    std::int64_t next = step + 1;
    try {
      const Verdict verdict = rule.invoke(step);
      if (verdict.ends_rule()) return;
      if (!verdict.why_to_ask_again().empty()) {
        // Only time helps: the run that is waited for is not the one whose steps are.
        std::this_thread::sleep_for(rules_detail::kAskAgain);
        next = step;
      }
    } catch (const StepUnavailable& error) {
      log(LogLevel::Debug, error.what());
      // Steps before the next saved one are not saved either. Behind the last saved step the run
      // is asked.
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
