#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cupel/core/mutex.h"
#include "cupel/rules/rule.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/rule_parameter.h"
#include "rule_script.h"
#include "rule_source.h"

namespace cupel::lua {

/// The runs of a file of rules: one for each rule that is made, and no more.
///
/// The run that read the definitions waits here for the first rule, and answers what rules need
/// until then. The definitions of the file share one object; any thread may call it.
class RuleRuns {
 public:
  /// Takes the run that read the definitions, which has no problems.
  explicit RuleRuns(std::unique_ptr<RuleScript> first);

  /// The rules of the file, in its order.
  const std::vector<DeclaredRule>& rules() const noexcept { return rules_; }

  /// Computes the needs of rule number `rule`. Runs the file where no run waits and the needs for
  /// these values are not known from an earlier call. Throws ScriptError where the script fails.
  RuleNeeds needs(std::size_t rule, const ParameterValues& values);

  /// Makes the rule in the run that waits, or in a new one. Throws ScriptError where the script
  /// fails.
  std::unique_ptr<Rule> make(std::size_t rule, Trial& base, const ParameterValues& values,
                             std::vector<std::unique_ptr<Trial>> others);

 private:
  struct KnownNeeds {
    std::size_t rule;
    ParameterValues values;
    RuleNeeds needs;
  };
  RuleScript& waiting(std::size_t rule) CUPEL_REQUIRES(mutex_);
  RuleNeeds needs_locked(std::size_t rule, const ParameterValues& values) CUPEL_REQUIRES(mutex_);
  bool is_known(const KnownNeeds& known, std::size_t rule, const ParameterValues& values) const;

  const std::shared_ptr<const RuleSource> source_;
  const std::vector<DeclaredRule> rules_;
  Mutex mutex_;
  std::unique_ptr<RuleScript> waiting_ CUPEL_GUARDED_BY(mutex_);  // Null: a rule took it.
  std::deque<KnownNeeds> known_ CUPEL_GUARDED_BY(mutex_);         // The newest is last.
};

}  // namespace cupel::lua
