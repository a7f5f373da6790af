#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/rule_parameter.h"
#include "rule_script.h"
#include "rule_source.h"

namespace cupel::scripting_detail {

/// The runs of a file of rules: one for each rule that is made, and no more.
///
/// A rule judges in a run in which needs() was called once, with its own parameters, and for no
/// other rule. The run that read the definitions waits here for a rule; further runs are made when
/// needs for other parameters are asked for, and wait for their rules. The definitions of the file
/// share one object; any thread may call it.
class RuleRuns {
 public:
  /// Takes the run that read the definitions, which has no problems.
  explicit RuleRuns(std::unique_ptr<RuleScript> first);

  /// The rules of the file, in its order.
  const std::vector<DeclaredRule>& rules() const noexcept { return rules_; }

  /// Computes the needs of rule number `rule`, unless they are known from an earlier call. Throws
  /// ScriptError where the script fails.
  RuleNeeds needs(std::size_t rule, const ParameterValues& values);

  /// Makes the rule in the run that waits for it, or in a new one. Throws ScriptError where the
  /// script fails.
  std::unique_ptr<Rule> make(std::size_t rule, Trial& base, const ParameterValues& values,
                             std::vector<std::unique_ptr<Trial>> others);

  /// Returns the place of an error that a function of the definitions threw.
  RuleProblem problem_of(const std::exception& error) const;

 private:
  // Needs that were computed.
  struct Known {
    std::size_t rule = 0;
    ParameterValues values = {};
    RuleNeeds needs = {};
    std::unique_ptr<RuleScript> script =
        nullptr;  // the run that waits for this rule; null: there is none
  };
  Known compute(std::size_t rule, const ParameterValues& values,
                std::unique_ptr<RuleScript> script) const;
  std::unique_ptr<RuleScript> new_run(std::size_t rule) const;
  void remember(Known known) CUPEL_REQUIRES(mutex_);
  bool is_of(const Known& known, std::size_t rule, const ParameterValues& values) const;

  const std::shared_ptr<const RuleSource> source_;
  const std::vector<DeclaredRule> rules_;
  Mutex mutex_;
  // The run that read the file. Null: a rule took it, or the needs of one were computed in it.
  std::unique_ptr<RuleScript> first_ CUPEL_GUARDED_BY(mutex_);
  std::deque<Known> known_ CUPEL_GUARDED_BY(mutex_);  // The newest is last.
};

}  // namespace cupel::scripting_detail
