// Hands the Lua states of a file over to its rules. The state in which the file was read serves the
// first rule, so that a file with one rule runs once; needs() uses the same state before. Needs are
// remembered, since they are asked for again after a rule took the state: by the runner, and by the
// commands that explain a rule. One mutex guards the state and what is remembered; a script runs
// under it for as long as its limits let it.

#include "rule_runs.h"

#include <algorithm>
#include <utility>

#include "lua_rule.h"

namespace cupel::lua {
namespace {

// A run is asked for the needs of each of its rules, mostly with one set of parameters each.
constexpr std::size_t kMostKnown = 100;

}  // namespace

RuleRuns::RuleRuns(std::unique_ptr<RuleScript> first)
    : source_(first->shared_source()), rules_(first->rules()), waiting_(std::move(first)) {}

RuleScript& RuleRuns::waiting(std::size_t rule) {
  if (waiting_ == nullptr) waiting_ = std::make_unique<RuleScript>(source_);
  // A file may make other rules at each run; the run may have been made for another rule.
  waiting_->require_rule(rule, rules_[rule].definition.name);
  return *waiting_;
}

bool RuleRuns::is_known(const KnownNeeds& known, std::size_t rule,
                        const ParameterValues& values) const {
  if (known.rule != rule) return false;
  const std::vector<Parameter>& parameters = rules_[rule].definition.parameters;
  return std::all_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
    const ParameterValue* const one = known.values.find(parameter.name);
    const ParameterValue* const other = values.find(parameter.name);
    return one == other || (one != nullptr && other != nullptr && *one == *other);
  });
}

RuleNeeds RuleRuns::needs_locked(std::size_t rule, const ParameterValues& values) {
  if (!rules_[rule].has_needs_function) return rules_[rule].needs.value_or(RuleNeeds());
  for (const KnownNeeds& known : known_)
    if (is_known(known, rule, values)) return known.needs;
  RuleNeeds needs = waiting(rule).needs(rule, values);
  known_.push_back({rule, values, needs});
  if (known_.size() > kMostKnown) known_.pop_front();
  return needs;
}

RuleNeeds RuleRuns::needs(std::size_t rule, const ParameterValues& values) {
  const MutexLock lock(mutex_);
  return needs_locked(rule, values);
}

std::unique_ptr<Rule> RuleRuns::make(std::size_t rule, Trial& base, const ParameterValues& values,
                                     std::vector<std::unique_ptr<Trial>> others) {
  RuleNeeds needs;
  std::unique_ptr<RuleScript> script;
  {
    const MutexLock lock(mutex_);
    needs = needs_locked(rule, values);
    waiting(rule);
    script = std::move(waiting_);
  }
  return std::make_unique<LuaRule>(std::move(script), rule, std::move(needs), base, values,
                                   std::move(others));
}

}  // namespace cupel::lua
