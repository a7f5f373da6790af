#pragma once

#include <string_view>

namespace cupel {

/// The status of a run at present, as `cupel info` and `cupel watch` print it.
enum class RunStatus {
  Running,      ///< A process writes the run, or may do so.
  Ended,        ///< The run has ended.
  Interrupted,  ///< The run has not ended, and no process holds the lock of any of its workers.
  Silent,       ///< No step came for a minute, and locks of processes cannot be seen from here.
};

/// "running", "ended", "interrupted" or "silent".
std::string_view to_string(RunStatus status) noexcept;

}  // namespace cupel
