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

/// What a line reports.
enum class RuleStatus {
  IssuesFound,
  NoIssuesFound,
  NothingSeen,  ///< At the end of a rule: the rule never had anything to judge.
  Error,
  Stopped,
  Rewound,
  Explained,
  Noted,
  Action
};
std::string_view to_string(RuleStatus status) noexcept;

/// One line of a runner: a rule fired at a step, was explained at a step, or has ended; the result
/// of an action; or, among explanations, a note of a hook.
struct VerdictLine {
  /// The time of the line, ISO 8601, UTC; nothing else differs between two runners over one run.
  std::string time;
  std::string trial;  ///< The name of the trial.
  std::string rule;   ///< The name of the rule. Empty in Noted, which belongs to no rule.
  std::string name;   ///< The name of the configured rule; a second rule of a name gets "#2".
  /// The global step. Closing lines: the last step that was judged, unset if there was none. Noted:
  /// the step that the note came with, whose mode is not in the line.
  std::optional<std::int64_t> step;
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  RuleStatus status = RuleStatus::IssuesFound;
  std::vector<Finding> tensors;
  std::int64_t findings_beyond = 0;  ///< The number of findings that are not in `tensors`.
  /// IssuesFound: the findings in words. Explained: why nothing was judged. Closing lines: the
  /// error, or why the rule saw nothing or ended early. Noted: the note's text. Action: what was
  /// done, or why it was not.
  std::string message;
  /// IssuesFound and Explained: something that the rule read held NaN.
  bool nan_seen = false;
  std::vector<std::string> missing_workers;  ///< Workers that have not committed the step.
  /// IssuesFound: the number of the incident that the findings belong to; else 0.
  std::int64_t incident = 0;
  bool begins_incident = false;  ///< The findings are the first of the incident.

  /// The workers of the run; text shows workers only where there are several.
  std::int64_t num_workers = 1;

  std::vector<Observation> observations;  ///< Explained only.
  std::vector<Skip> skips;                ///< Explained only.
  std::optional<Note> note;               ///< Noted only.
  std::optional<ActionOutcome> action;    ///< Action only; `step` is the step that fired.

  bool final_line = false;                 ///< The closing line of a rule.
  std::optional<std::int64_t> first_step;  ///< Closing lines: the first step that fired.
  std::int64_t steps_evaluated = 0;        ///< Closing lines: steps at which the rule was asked.
  std::int64_t steps_skipped = 0;  ///< Closing lines: steps with a tensor that could not be used.
  std::int64_t steps_damaged = 0;  ///< Closing lines: skipped steps with a damaged value.
};

/// Returns the line as a JSON object without a line break, keys in the documented order. Numbers
/// that JSON lacks are the strings "NaN", "Infinity" and "-Infinity"; bytes that are not UTF-8
/// become U+FFFD. A field that is unset is null.
std::string to_json(const VerdictLine& line);

/// Returns the line as text for people: one text line for each finding ("step 120 TRAIN
/// VanishingGradient  gradient/fc1.weight  abs_mean 3.1e-09 < 1e-07") or observation, without a
/// line break at the end. Control characters in names are shown as \x1b and the like.
std::string to_text(const VerdictLine& line);

}  // namespace cupel
