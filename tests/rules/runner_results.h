#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cupel/rules/rule_runner.h"
#include "rules/rule_fixture.h"

namespace cupel::testing {

/// A run of one worker with steps that hold "loss", the step's number.
struct LossRun : MemoryRun {
  WorkerWriter writer = worker();
  explicit LossRun(std::initializer_list<std::int64_t> steps = {}) { writer.save_steps(steps); }
  explicit LossRun(std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; ++step) writer.save_steps({step});
  }
};

/// A line as a test compares it: "3 Name IssuesFound", "end Name Stopped".
inline std::string brief(const VerdictLine& line) {
  std::string text = line.final_line ? "end " : std::to_string(line.step.value_or(-1)) + " ";
  return text + line.name + " " + std::string(to_string(line.status));
}

/// The whole line but for its time.
inline std::string timeless(VerdictLine line) {
  line.time = "";
  return to_json(line) + "\n" + to_text(line);
}

struct Result {
  RunSummary summary;
  Lines lines;  // brief
  Lines timeless_lines;
  std::vector<VerdictLine> verdicts;
};

/// What a runner says; `on_line` is called beside.
inline Result run_all(RuleRunner& runner, const RuleRunner::LineCallback& on_line = {}) {
  Result result;
  result.summary = runner.run([&](const VerdictLine& line) {
    result.lines.push_back(brief(line));
    result.timeless_lines.push_back(timeless(line));
    result.verdicts.push_back(line);
    if (on_line) on_line(line);
  });
  return result;
}

inline std::unique_ptr<Rule> written(Trial& trial, WrittenRule::Judge judge,
                                     std::string name = "Rule") {
  return std::make_unique<WrittenRule>(trial, std::move(judge), std::move(name));
}
inline std::unique_ptr<Rule> always(Trial& trial, std::string name = "Always") {
  return written(
      trial, [](Trial&, std::int64_t) { return fired(); }, std::move(name));
}
inline std::unique_ptr<Rule> never(Trial& trial, std::string name = "Never") {
  return written(
      trial, [](Trial&, std::int64_t) { return Verdict(); }, std::move(name));
}
/// Fires at the given step.
inline std::unique_ptr<Rule> at(Trial& trial, std::int64_t when, std::string name = "At") {
  return written(
      trial, [when](Trial&, std::int64_t step) { return step == when ? fired() : Verdict(); },
      std::move(name));
}

}  // namespace cupel::testing
