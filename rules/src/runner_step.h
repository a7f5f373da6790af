#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
  std::shared_ptr<const std::vector<Note>> notes = nullptr;  ///< To be told with it.
};

/// What came of asking a rule once.
struct Outcome {
  enum class Kind {
    Judged,
    Fired,
    Skipped,
    NotYet,  ///< Another run is not so far: to be asked again.
    Failed,
    Rewound,
    Passed,  ///< Nothing is to be said of it.
  };
  Kind kind = Kind::Judged;
  Verdict verdict = {};      ///< Judged, Fired
  std::string message = {};  ///< Skipped, NotYet, Failed, Fired by an exception
  bool damaged = false;      ///< Skipped because of a damaged value.
  bool last = false;         ///< The rule is not asked again.
};

/// When a rule that waits for another run is asked again.
inline constexpr std::chrono::milliseconds kAskAgain{250};

/// Asks a rule about a step, at a tick, at the end; whatever it throws is an outcome.
Outcome outcome_at_step(Rule& rule, const Step& step);
Outcome outcome_of_tick(Rule& rule, std::chrono::steady_clock::time_point now,
                        std::shared_ptr<const Snapshot> snapshot);
Outcome outcome_of_end(Rule& rule, std::shared_ptr<const Snapshot> snapshot);

}  // namespace cupel::runner_detail
