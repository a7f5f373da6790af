#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/rules/rule.h"
#include "rule_context.h"
#include "rule_requirements.h"
#include "rule_script.h"
#include "trial_object.h"

namespace cupel::scripting_detail {

/// A rule that calls the functions of a script.
class LuaRule final : public Rule {
 public:
  /// Makes the rule number `rule` of the script, and takes its state over. `needs` are those for
  /// `values`. Throws ScriptError where the script's limits have no room for the rule.
  LuaRule(std::unique_ptr<RuleScript> script, std::size_t rule, RuleNeeds needs, Trial& base,
          const ParameterValues& values, std::vector<std::unique_ptr<Trial>> others);

  Verdict invoke_at_step(std::int64_t step) override;
  Verdict on_tick(std::chrono::steady_clock::time_point now) override;
  Verdict on_end() override;
  std::string rule_name() const override { return declared().definition.name; }
  std::string what_it_reads() const override;

 private:
  const DeclaredRule& declared() const { return script_->rules()[rule_]; }
  void make_self(const ParameterValues& values);
  // Returns whether the data that the script requires of a step is there. Else the verdict has what
  // the rule waits for.
  bool has_required(std::int64_t step, Verdict& verdict);
  void explain_silence(std::int64_t step, Verdict& verdict);
  template <class Call>
  Verdict judge(std::int64_t step, Call&& call);
  [[noreturn]] void rethrow(const ScriptError& error) const;

  // The other runs, of which the rule has views.
  std::vector<std::unique_ptr<Trial>> others_;
  RuleContext context_;
  std::unique_ptr<RuleScript> script_;
  std::vector<std::unique_ptr<TrialObject>> trials_;  // the base first; script_ counts them
  std::size_t rule_;
  RuleNeeds needs_;
  std::vector<NameSelection> needed_;  // the tensors of needs_
  bool requires_data_ = false;
  Requirements requirements_;
  bool has_tick_ = false;
  bool has_end_ = false;
  std::optional<std::chrono::steady_clock::time_point> first_tick_;
};

}  // namespace cupel::scripting_detail
