#pragma once

#include <cstdint>
#include <map>
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

  std::string rule;
  std::string name;
  RuleParameters parameters;
  std::vector<std::string> workers;
  std::map<std::string, std::vector<std::string>> collections;  // patterns
  std::vector<SavedStep> steps;
  bool values_removed = false;
  std::map<std::int64_t, Lines> expected;  // of the steps where there is anything to say
  std::map<std::int64_t, Lines> reads;     // of the steps where it matters
  Lines mistakes;                          // of the parameters; then there is no run

  /// Writes the run, and removes its values where the case says so.
  void write(const MemoryRun& run) const;
};

/// Reads a file of cases; throws std::runtime_error that names the case and what is wrong with it.
std::vector<RuleCase> read_cases(std::string_view json);

}  // namespace cupel::testing
