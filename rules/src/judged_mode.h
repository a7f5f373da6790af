#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cupel/trial/trial.h"

namespace cupel::rules_detail {

/// The mode whose steps a rule judges: the first of `preferred` that the run has steps of so far;
/// Global, which stands for all steps, where it has none.
inline Mode judged_mode(const Trial& run, const std::vector<Mode>& preferred) {
  if (preferred.empty()) return Mode::Global;
  const std::vector<Mode> present = run.modes();
  for (const Mode mode : preferred)
    if (mode == Mode::Global || std::find(present.begin(), present.end(), mode) != present.end())
      return mode;
  return Mode::Global;
}

inline bool is_judged(Mode step, Mode judged) noexcept {
  return judged == Mode::Global || step == judged;
}

/// The record's number among the steps that are judged.
inline std::int64_t number_in(const RecordView& record, Mode judged) noexcept {
  return judged == Mode::Global ? record.step() : record.mode_step();
}

/// "step 10", "TRAIN step 10".
inline std::string step_text(std::int64_t number, Mode judged) {
  const std::string mode = judged == Mode::Global ? "" : std::string(to_string(judged)) + " ";
  return mode + "step " + std::to_string(number);
}

}  // namespace cupel::rules_detail
