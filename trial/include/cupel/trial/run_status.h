#pragma once

#include <string_view>

namespace cupel {

/// How a run stands at present, as `cupel info` and `cupel watch` say it.
enum class RunStatus {
  Running,      ///< A process writes it, or may do so.
  Ended,        ///< The end marker is there.
  Interrupted,  ///< It has not ended, and no process holds the lock of any of its workers.
  Silent,       ///< Nothing came for a minute, and whether a process holds a lock cannot be seen.
};

/// "running", "ended", "interrupted" or "silent".
std::string_view to_string(RunStatus status) noexcept;

}  // namespace cupel
