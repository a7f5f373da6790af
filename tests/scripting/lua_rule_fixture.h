#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/log_capture.h"
#include "cupel/core/error.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/trial/run_follower.h"
#include "rules/runner_results.h"
#include "scripting/lua_rule_of.h"
#include "store/scratch_directory.h"

namespace cupel::testing {

/// A directory of files of rules.
class RuleFiles {
 public:
  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string path(std::string_view name) const { return (directory_ / name).string(); }
  /// Reads a text as the file rule.lua.
  RuleFile read(std::string_view text) const { return read_lua_rules(write("rule.lua", text)); }
  /// The first rule of such a file. Throws UsageError with every error of the file.
  std::shared_ptr<const RuleDefinition> rule(std::string_view text) const {
    return rule_of(read(text));
  }

  ScratchDirectory directory_;
};

/// A rule called R of which only the body of invoke_at_step matters; `more` are further entries.
inline std::string rule_text(const std::string& body, const std::string& more = "") {
  return "return cupel.rule { name = 'R', " + more + (more.empty() ? "" : ", ") +
         "invoke_at_step = function(self, trial, step) " + body + " end }";
}

/// What a call throws, in words; "" if it throws nothing.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// The mistakes that a file is refused for, one a line.
inline std::string mistake_in(std::string_view text) {
  const RuleFiles files;
  return errors_text(files.read(text));
}

/// A rule over a run in memory, judged step by step.
class JudgedRule {
 public:
  JudgedRule(const MemoryRun& run, std::string_view text, const RuleParameters& parameters = {},
             std::vector<std::unique_ptr<Trial>> others = {})
      : trial_(run.open()), rule_(files_.rule(text)->make(trial_, parameters, std::move(others))) {}

  Rule& rule() { return *rule_; }
  Verdict verdict(std::int64_t step) {
    trial_.refresh();
    return RuleEvaluation(*rule_).at_step(step, RunFollower(trial_).snapshot());
  }
  Verdict at_the_end() { return RuleEvaluation(*rule_).at_end(RunFollower(trial_).snapshot()); }
  Verdict tick(double second) {
    const std::chrono::duration<double> since(second);
    return RuleEvaluation(*rule_).at_tick(
        std::chrono::steady_clock::time_point(
            std::chrono::duration_cast<std::chrono::steady_clock::duration>(since)),
        RunFollower(trial_).snapshot());
  }
  Lines at(std::int64_t step) { return describe(verdict(step)); }
  /// What --explain shows of a step.
  Lines explained(std::int64_t step) {
    RuleEvaluation(*rule_).set_explaining(true);
    const Verdict seen = verdict(step);
    Lines lines;
    for (const Observation& one : seen.observations())
      lines.push_back(one.tensor + " " + one.worker + ": " + one.read + ": " + one.compared +
                      (one.fired ? ", fired" : ""));
    return lines;
  }
  /// The error that a step ends with.
  std::string error(std::int64_t step) {
    return error_of([&] { verdict(step); });
  }

  RuleFiles files_;

 private:
  Trial trial_;
  std::unique_ptr<Rule> rule_;
};

/// A run whose steps hold "loss", the step's number.
inline MemoryRun losses(std::int64_t steps) {
  MemoryRun run;
  WorkerWriter writer = run.worker();
  for (std::int64_t step = 0; step < steps; ++step)
    writer.save(step, {scalar("loss", static_cast<double>(step))});
  writer.finish();
  return run;
}

/// The verdict of a rule of this body at step 0 of a run with a loss.
inline Verdict judged(const std::string& body, const std::string& more = "") {
  return JudgedRule(losses(1), rule_text(body, more)).verdict(0);
}
/// The error that it ends with there.
inline std::string mistake(const std::string& body, const std::string& more = "") {
  return JudgedRule(losses(1), rule_text(body, more)).error(0);
}

/// What a script answers at a step: the text that it gives to `say(...)`, values separated by
/// blanks.
inline std::string answer(const MemoryRun& run, const std::string& body, std::int64_t step = 0) {
  const std::string text =
      "local function say(...) local texts = {} for i, value in ipairs {...} do "
      "texts[i] = type(value) == 'table' and '{' .. table.concat(value, ',') .. '}' or "
      "tostring(value) end return table.concat(texts, ' ') end " +
      rule_text("local answer = (function() " + body +
                " end)() self:issue { tensor = 'answer', message = answer == '' and 'nothing' or "
                "answer }");
  const Verdict verdict = JudgedRule(run, text).verdict(step);
  return verdict.findings().at(0).message;
}

}  // namespace cupel::testing
