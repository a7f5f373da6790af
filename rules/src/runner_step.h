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

namespace cupel::runner_detail {

/// A complete step to be judged, as it was when it was seen; or the news that a restarted training
/// goes on from a step that has been seen already.
struct Step {
  bool rewound = false;
  std::size_t rewinds = 0;  ///< Trial::rewinds() when it was seen.
  std::int64_t step = 0;
  Mode mode = Mode::Global;
  std::int64_t mode_step = 0;
  std::int64_t num_workers = 1;
  std::vector<std::string> missing_workers = {};
  std::shared_ptr<const Snapshot> snapshot = nullptr;
  std::shared_ptr<const std::vector<Note>> notes = nullptr;  ///< To be reported with the step.
};

/// The rule judged the step and found nothing.
struct Judged {};
/// The rule found something.
struct Fired {
  std::string message = {};  ///< Of the exception by which the rule fired; else empty.
};
/// The rule could not judge, because data is missing or damaged.
struct Skipped {
  std::string reason = {};
  bool damaged = false;  ///< The data is there and damaged.
};
/// Another run is not so far, or a store does not answer for the moment: the rule is asked again.
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

/// What came of asking a rule once.
struct Outcome {
  std::variant<Passed, Judged, Fired, Skipped, NotYet, Failed, Rewound> what = Passed();
  Verdict verdict = {};          ///< What the rule returned; empty if it threw or was not asked.
  bool last = false;             ///< The rule is not asked again.
  bool reported_before = false;  ///< Of NotYet: an earlier runner has reported this step.

  template <class Kind>
  bool is() const noexcept {
    return std::holds_alternative<Kind>(what);
  }
};

/// When a rule that waits for another run is asked again.
inline constexpr std::chrono::milliseconds kAskAgain{250};

/// Asks a rule about a step, at a tick, at the end; whatever it throws is an outcome.
Outcome outcome_at_step(Rule& rule, const Step& step);
Outcome outcome_of_tick(Rule& rule, std::chrono::steady_clock::time_point now,
                        std::shared_ptr<const Snapshot> snapshot);
Outcome outcome_of_end(Rule& rule, std::shared_ptr<const Snapshot> snapshot);

}  // namespace cupel::runner_detail
