#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule_fixture.h"

namespace cupel::testing {

/// A rule, a run, and what the rule has to say of it: one entry of tests/rules/cases/<Rule>.json,
/// which cases/README.md describes.
struct RuleCase {
  struct SavedStep {
    At at;
    std::string worker;
    std::vector<SavedTensor> tensors;
  };

  /// The rule is asked between steps.
  struct Tick {
    std::optional<std::int64_t> after;  // this step; unset: before the first
    bool at_the_end = false;            // of the run, which has its marker by then
    std::int64_t second = 0;
    Lines expected;
  };

  std::string rule;
  std::string name;
  RuleParameters parameters;
  std::optional<Definitions> edition;  // unset: the case holds for both
  std::vector<std::string> workers;
  std::map<std::string, std::vector<std::string>> collections;  // patterns
  std::vector<SavedStep> steps;
  bool values_removed = false;
  std::optional<std::vector<SavedStep>> other_steps;  // of the run that other_trials names
  bool other_values_removed = false;
  std::vector<Tick> ticks;                 // by step, then second
  std::map<std::int64_t, Lines> expected;  // of the steps where there is anything to say
  std::map<std::int64_t, Lines> reads;     // of the steps where it matters
  std::vector<std::int64_t> nan_seen;      // steps whose verdicts say that NaN was met
  Lines mistakes;                          // of the parameters; then there is no run

  /// Writes the run, and removes its values where the case says so.
  void write(const MemoryRun& run) const;
  /// The same of the other run.
  void write_other(Store& store) const;
};

/// Writes one of a case's runs as it grows.
class CaseWriter {
 public:
  CaseWriter(const RuleCase& rule_case, const std::vector<RuleCase::SavedStep>& steps,
             Store& store);
  /// Saves all of a step.
  void save(std::int64_t step);
  void save_all();
  void end();
  /// The global steps, each once.
  const std::vector<std::int64_t>& numbers() const noexcept { return numbers_; }

 private:
  const std::vector<RuleCase::SavedStep>& steps_;
  Store& store_;
  std::map<std::string, WorkerWriter> writers_;
  std::vector<std::int64_t> numbers_;
};

/// Reads a file of cases; throws std::runtime_error that names the case and what is wrong with it.
std::vector<RuleCase> read_cases(std::string_view json);

}  // namespace cupel::testing
