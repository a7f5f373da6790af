#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "go_on.h"

namespace cupel {

/// A program with its arguments, what it reads and what is added to our environment.
struct Command {
  std::vector<std::string> arguments;  ///< The first is the program's path.
  std::string input;
  std::vector<std::pair<std::string, std::string>> environment;  ///< Without NULs.
};

struct CommandEnd {
  enum class How {
    Exited,   ///< With `status`.
    Killed,   ///< By the signal `status`.
    TooLong,  ///< We ended it after the timeout.
    Stopped,  ///< We ended it because go_on said so.
    Unknown,  ///< Somebody else has taken its status.
  };
  How how = How::Unknown;
  int status = 0;
};

/// Runs it in a group of processes of its own, which ends as a whole: TERM, a moment later KILL.
/// Its input is a file without a name, so that it goes on reading when we are killed; its output
/// goes to /dev/null. It has none of our other files, and signals as a new process has them. Throws
/// std::system_error when it cannot be begun.
CommandEnd run_command(const Command& command, std::chrono::milliseconds timeout,
                       const GoOn& go_on);

}  // namespace cupel
