#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cupel/rules/rule.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/scripting/script_limits.h"
#include "cupel/trial/run_follower.h"
#include "trial/trial_fixture.h"

namespace cupel::testing {

/// A whole file of rules that means harm, one of rule_attacks/. Its first lines say
/// "-- stopped by: allow-list | instructions | memory | clock | error | nothing" and
/// "-- at: load | needs | required | invoke_at_step | on_tick | on_end", the call in which it does;
/// invoke_at_step where there is no such line.
struct RuleAttack {
  std::string name;
  std::string reason;
  std::string place = "invoke_at_step";
  std::string text;
  bool is_huge = false;  ///< "-- run: huge" says so.
};
std::vector<RuleAttack> rule_attacks();
inline void PrintTo(const RuleAttack& attack, std::ostream* out) { *out << attack.name; }

/// What a file outside of the folder of rules holds; nobody may read it.
inline constexpr const char* kSecret = "the canary's song";

/// A folder with rules, their modules and links that lead out of it, and the files outside.
class AttackFolder {
 public:
  explicit AttackFolder(const RuleAttack& attack);
  ~AttackFolder();
  AttackFolder(const AttackFolder&) = delete;
  AttackFolder& operator=(const AttackFolder&) = delete;

  std::string attack() const { return (rules_ / "attack.lua").string(); }
  std::string neighbour() const { return (rules_ / "neighbour.lua").string(); }
  /// Every file with what it holds.
  std::map<std::string, std::string> contents() const;

 private:
  std::filesystem::path root_;
  std::filesystem::path rules_;
};

/// Four steps with gradients, a loss, a large tensor, NaN, and texts. A huge one has a step 4 with
/// "bytes", a tensor, and "long text".
struct AttackedRun : MemoryRun {
  explicit AttackedRun(bool is_huge);
};

/// What one call took of this thread's processor and of the process's memory, at most.
struct Usage {
  std::chrono::duration<double, std::milli> time{0};
  std::size_t memory = 0;

  /// Measures a call, whatever it throws.
  template <class Call>
  auto of(Call&& call) {
    const Meter meter(*this);
    return call();
  }

 private:
  class Meter {
   public:
    explicit Meter(Usage& usage);
    ~Meter();
    Meter(const Meter&) = delete;
    Meter& operator=(const Meter&) = delete;

   private:
    Usage& usage_;
    std::chrono::duration<double, std::milli> begin_;
    std::size_t resident_;
  };
};

/// Passes all calls on to another rule and measures each.
class MeasuredRule final : public Rule {
 public:
  MeasuredRule(Trial& base, std::unique_ptr<Rule> rule, Usage& usage)
      : Rule(base), rule_(std::move(rule)), usage_(usage) {}
  std::string rule_name() const override { return rule_->rule_name(); }
  std::string what_it_reads() const override { return rule_->what_it_reads(); }
  Verdict invoke_at_step(std::int64_t step) override {
    return usage_.of(
        [&] { return RuleEvaluation(*rule_).at_step(step, RunFollower(base_trial()).snapshot()); });
  }
  Verdict on_tick(std::chrono::steady_clock::time_point now) override {
    return usage_.of(
        [&] { return RuleEvaluation(*rule_).at_tick(now, RunFollower(base_trial()).snapshot()); });
  }
  Verdict on_end() override {
    return usage_.of(
        [&] { return RuleEvaluation(*rule_).at_end(RunFollower(base_trial()).snapshot()); });
  }

 private:
  std::unique_ptr<Rule> rule_;
  Usage& usage_;
};

}  // namespace cupel::testing
