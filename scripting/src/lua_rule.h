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

namespace cupel::lua {

/// A rule whose conditions a script says.
class LuaRule final : public Rule {
 public:
  /// Runs the file anew, whose rule of number `rule` is called `name`. Throws ScriptError, and
  /// UsageError for bad parameters and for fewer other runs than the rule compares with.
  LuaRule(std::shared_ptr<const RuleSource> source, std::size_t rule, const std::string& name,
          Trial& base, const RuleParameters& parameters,
          std::vector<std::unique_ptr<Trial>> others);

  Verdict invoke_at_step(std::int64_t step) override;
  Verdict on_tick(std::chrono::steady_clock::time_point now) override;
  Verdict on_end() override;
  std::string rule_name() const override { return definition().info.name; }
  std::string what_it_reads() const override;

 private:
  const RuleDefinition& definition() const { return script_.definitions()[rule_]; }
  void make_self(const ParameterValues& values);
  // Whether what the script requires of a step is there; else the verdict says what is waited for.
  bool has_required(std::int64_t step, Verdict& verdict);
  void explain_silence(std::int64_t step, Verdict& verdict);
  template <class Call>
  Verdict judge(std::int64_t step, Call&& call);
  [[noreturn]] void rethrow(const ScriptError& error) const;

  // Views of these are the rule's: they live as long as it does.
  std::vector<std::unique_ptr<Trial>> others_;
  RuleContext context_;
  RuleScript script_;
  std::vector<std::unique_ptr<TrialObject>> trials_;  // the base first; script_ counts them
  std::size_t rule_;
  RuleNeeds needs_;
  std::vector<NameSelection> needed_;  // of the needs
  bool requires_data_ = false;
  Requirements requirements_;
  bool has_tick_ = false;
  bool has_end_ = false;
  std::optional<std::chrono::steady_clock::time_point> first_tick_;
};

}  // namespace cupel::lua
