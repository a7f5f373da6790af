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
#include "cupel/scripting/lua_rule_file.h"
#include "rules/runner_results.h"
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
  LuaRuleFile file(std::string_view text) const { return LuaRuleFile(write("rule.lua", text)); }

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

/// The mistake that a file is refused for.
inline std::string mistake_in(std::string_view text) {
  const RuleFiles files;
  return error_of([&] { files.file(text); });
}

/// A rule over a run in memory, judged step by step.
class JudgedRule {
 public:
  JudgedRule(const MemoryRun& run, std::string_view text, const RuleParameters& parameters = {},
             std::vector<std::unique_ptr<Trial>> others = {})
      : trial_(run.open()),
        file_(files_.file(text)),
        rule_(file_.make(trial_, "", parameters, std::move(others))) {}

  Rule& rule() { return *rule_; }
  Verdict verdict(std::int64_t step) {
    trial_.refresh();
    return rule_->evaluate(step, trial_.snapshot());
  }
  Verdict at_the_end() { return rule_->evaluate_end(trial_.snapshot()); }
  Verdict tick(double second) {
    const std::chrono::duration<double> since(second);
    return rule_->evaluate_tick(
        std::chrono::steady_clock::time_point(
            std::chrono::duration_cast<std::chrono::steady_clock::duration>(since)),
        trial_.snapshot());
  }
  Lines at(std::int64_t step) { return describe(verdict(step)); }
  /// What --explain has to tell of a step.
  Lines explained(std::int64_t step) {
    rule_->set_explaining(true);
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
  LuaRuleFile file_;
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

/// What a rule of this body says of step 0 of a run with a loss.
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
