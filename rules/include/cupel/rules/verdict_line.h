#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/mode.h"
#include "cupel/rules/action.h"
#include "cupel/rules/verdict.h"
#include "cupel/trial/trial.h"

namespace cupel {

enum class RuleStatus {
  IssuesFound,
  NoIssuesFound,
  NothingSeen,  ///< At the end of a rule: there was never anything that it could judge.
  Error,
  Stopped,
  Rewound,
  Explained,
  Noted,
  Action
};
std::string_view to_string(RuleStatus status) noexcept;

/// One line that a runner says: a rule fired at a step, was explained at a step, or has ended; what
/// became of an action; or, among explanations, what a hook noted about itself.
struct VerdictLine {
  /// ISO 8601, UTC, when it was said; the only thing that differs between two runs.
  std::string time;
  std::string trial;
  std::string rule;  ///< The class's name; empty in Noted, which is no rule's.
  std::string name;  ///< The configuration's name; a second rule of the same name gets "#2".
  /// Global; in closing lines the last that was judged, unset if none was; of a note, the step that
  /// it came with, whose mode is not told.
  std::optional<std::int64_t> step;
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  RuleStatus status = RuleStatus::IssuesFound;
  std::vector<Finding> tensors;
  std::int64_t findings_beyond = 0;  ///< Found, but not in `tensors`; the message counts them.
  /// IssuesFound: the findings in words. Explained: why nothing was looked at. Closing lines: the
  /// error, or why the rule saw nothing or ended early. Noted: the note's text. Action: what was
  /// done, or why it was not.
  std::string message;
  /// IssuesFound and Explained: what the rule looked at held NaN.
  bool nan_seen = false;
  std::vector<std::string> missing_workers;  ///< The step was judged without them.
  /// IssuesFound: the number of the incident that the findings belong to; else 0.
  std::int64_t incident = 0;
  bool begins_incident = false;  ///< They are its first.

  /// Of the run; people are told workers only where there are several.
  std::int64_t num_workers = 1;

  std::vector<Observation> observations;  ///< Explained only.
  std::vector<Skip> skips;                ///< Explained only.
  std::optional<Note> note;               ///< Noted only.
  std::optional<ActionOutcome> action;    ///< Action only; the step is that of the firing.

  bool final_line = false;
  std::optional<std::int64_t> first_step;  ///< Closing lines: the first that fired.
  std::int64_t steps_evaluated = 0;        ///< At which the rule was asked.
  std::int64_t steps_skipped = 0;          ///< Something was selected and could not be used.
  std::int64_t steps_damaged = 0;          ///< Of these: a value was damaged.
};

/// One JSON object without a line break, keys in the documented order. Numbers that JSON lacks are
/// the strings "NaN", "Infinity" and "-Infinity"; bytes that are not UTF-8 become U+FFFD. What is
/// unset is null.
std::string to_json(const VerdictLine& line);

/// What a person reads: one text line per finding ("step 120 TRAIN  VanishingGradient
/// gradient/fc1.weight abs_mean 3.1e-09 < 1e-07") or observation, without a break behind the last.
/// Control characters in names are shown as \x1b and the like.
std::string to_text(const VerdictLine& line);

}  // namespace cupel
