#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cupel/core/mode.h"
#include "cupel/rules/rule.h"
#include "cupel/trial/trial.h"

namespace cupel::rules_detail {

/// A complete step to be judged, as the feed saw it; or the report that a restarted training has
/// taken steps back.
struct Step {
  /// Whether this is such a report: the steps from `step` on are void.
  bool rewound = false;
  /// RunFollower::rewinds() when the feed saw the step.
  std::size_t rewinds = 0;
  /// The global step.
  std::int64_t step = 0;
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  /// The number of workers of the run.
  std::int64_t num_workers = 1;
  /// The workers that saved nothing at the step.
  std::vector<std::string> missing_workers = {};
  /// The snapshot in which the feed saw the step; null if `rewound`.
  std::shared_ptr<const Snapshot> snapshot = nullptr;
  /// The notes to be reported with the step; null if there are none.
  std::shared_ptr<const std::vector<Note>> notes = nullptr;
};

/// The rule judged the step and found nothing.
struct Judged {};
/// The rule found something.
struct Fired {
  /// The message of the exception by which the rule fired; else empty.
  std::string message = {};
};
/// The rule could not judge, because data is missing or damaged.
struct Skipped {
  std::string reason = {};
  /// Whether the data is there and damaged; else it is missing.
  bool damaged = false;
};
/// Another run has not come to the step, or a store fails for the moment: the rule is asked again.
struct NotYet {
  std::string reason = {};
};
/// The rule has ended with an error.
struct Failed {
  std::string error = {};
};
/// The training was restarted, and the rule was not asked.
struct Rewound {};
/// There is nothing to report of the step.
struct Passed {};

/// The result of asking a rule once.
struct Outcome {
  std::variant<Passed, Judged, Fired, Skipped, NotYet, Failed, Rewound> what = Passed();
  /// What the rule returned; empty if it threw or was not asked.
  Verdict verdict = {};
  /// Whether the rule has ended and is not asked again.
  bool last = false;
  /// For NotYet: whether an earlier runner has reported this step.
  bool reported_before = false;

  template <class Kind>
  bool is() const noexcept {
    return std::holds_alternative<Kind>(what);
  }
};

/// The time after which a rule with the outcome NotYet is asked again.
inline constexpr std::chrono::milliseconds kAskAgain{250};

/// Asks a rule about a step, at a tick, or at the end of the run. Whatever the rule throws becomes
/// an outcome.
Outcome outcome_at_step(Rule& rule, const Step& step);
Outcome outcome_of_tick(Rule& rule, std::chrono::steady_clock::time_point now,
                        std::shared_ptr<const Snapshot> snapshot);
Outcome outcome_of_end(Rule& rule, std::shared_ptr<const Snapshot> snapshot);

}  // namespace cupel::rules_detail
