#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cupel/trial/run_follower.h"

namespace cupel::rules_detail {

/// A file of the run by which the training platform asks rules to end, as the ported SDK has it:
/// SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE names it, and it holds the second, since 1970, when they
/// were asked.
class StopSignal {
 public:
  StopSignal();  ///< Reads the environment.

  /// Whether the file is there and `rule_stop_grace_time_secs` (60) have passed since the second
  /// that it holds; a file without one has expired. Where looking costs the answer may be as old as
  /// some seconds.
  bool expired(const RunFollower& run, std::chrono::system_clock::time_point now);

 private:
  bool has_expired(const RunFollower& run, std::chrono::system_clock::time_point now) const;

  std::optional<std::string> file_;
  std::chrono::seconds grace_{60};
  std::chrono::system_clock::time_point next_look_{};
};

}  // namespace cupel::rules_detail
