// Hands the Lua states of a file over to its rules. The state in which the file was read serves one
// rule, so that a file with one rule runs once. needs() is called in the state in which its rule
// will judge, and in no other one, because a script may keep in its variables what needs() was
// given. Needs are remembered, since they are asked for again after a rule took the state: by the
// runner, and by the commands that explain a rule. One mutex guards the states that wait and what
// is remembered; needs() runs under it for as long as its limits let it.

#include "rule_runs.h"

#include <algorithm>
#include <utility>

#include "lua_rule.h"

namespace cupel::scripting_detail {
namespace {

// A run is asked for the needs of each of its rules, mostly with one set of parameters each.
constexpr std::size_t kMostKnown = 100;
// Each run that waits may hold as much memory as a rule.
constexpr std::size_t kMostWaiting = 20;

}  // namespace

RuleRuns::RuleRuns(std::unique_ptr<RuleScript> first)
    : source_(first->shared_source()), rules_(first->rules()), first_(std::move(first)) {}

std::unique_ptr<RuleScript> RuleRuns::new_run(std::size_t rule) const {
  auto script = std::make_unique<RuleScript>(source_);
  // A file may make other rules at each run.
  script->require_rule(rule, rules_[rule].definition.name);
  return script;
}

bool RuleRuns::is_of(const Known& known, std::size_t rule, const ParameterValues& values) const {
  if (known.rule != rule) return false;
  const std::vector<Parameter>& parameters = rules_[rule].definition.parameters;
  return std::all_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
    const ParameterValue* const one = known.values.find(parameter.name);
    const ParameterValue* const other = values.find(parameter.name);
    return one == other || (one != nullptr && other != nullptr && *one == *other);
  });
}

// Null: in a new run.
RuleRuns::Known RuleRuns::compute(std::size_t rule, const ParameterValues& values,
                                  std::unique_ptr<RuleScript> script) const {
  if (script == nullptr) script = new_run(rule);
  RuleNeeds needs = script->needs(rule, values);
  return {rule, values, std::move(needs), std::move(script)};
}

void RuleRuns::remember(Known known) {
  known_.push_back(std::move(known));
  if (known_.size() > kMostKnown) known_.pop_front();
  const auto waits = [](const Known& one) { return one.script != nullptr; };
  if (std::ranges::count_if(known_, waits) > static_cast<std::ptrdiff_t>(kMostWaiting))
    std::ranges::find_if(known_, waits)->script.reset();
}

RuleNeeds RuleRuns::needs(std::size_t rule, const ParameterValues& values) {
  if (!rules_[rule].has_needs_function) return rules_[rule].needs.value_or(RuleNeeds());
  const MutexLock lock(mutex_);
  for (const Known& known : known_)
    if (is_of(known, rule, values)) return known.needs;
  remember(compute(rule, values, std::move(first_)));
  return known_.back().needs;
}

std::unique_ptr<Rule> RuleRuns::make(std::size_t rule, Trial& base, const ParameterValues& values,
                                     std::vector<std::unique_ptr<Trial>> others) {
  Known run{.rule = rule, .values = values};
  {
    const MutexLock lock(mutex_);
    const auto waiting = std::ranges::find_if(known_, [&](const Known& known) {
      return known.script != nullptr && is_of(known, rule, values);
    });
    if (waiting != known_.end()) {
      run.needs = waiting->needs;
      run.script = std::move(waiting->script);
    } else {
      run = compute(rule, values, std::move(first_));
      const bool is_known = std::ranges::any_of(
          known_, [&](const Known& known) { return is_of(known, rule, values); });
      if (rules_[rule].has_needs_function && !is_known)
        remember({rule, values, run.needs, nullptr});
    }
  }
  return std::make_unique<LuaRule>(std::move(run.script), rule, std::move(run.needs), base, values,
                                   std::move(others));
}

RuleProblem RuleRuns::problem_of(const std::exception& error) const {
  if (const auto* const of_script = dynamic_cast<const ScriptError*>(&error))
    return source_->problem(of_script->chunk, of_script->line, of_script->problem);
  return {.file = source_->path(), .message = error.what()};
}

}  // namespace cupel::scripting_detail
