#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "go_on.h"

namespace cupel::rules_detail {

/// A program with its arguments, its input and additions to the environment.
struct Command {
  std::vector<std::string> arguments;  ///< The first is the path of the program.
  std::string input;                   ///< The standard input.
  /// Variables that are added to this process's environment; texts without NULs.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// How a command ended.
struct CommandEnd {
  enum class How {
    Exited,   ///< With `status`.
    Killed,   ///< By the signal `status`.
    TooLong,  ///< Ended by run_command() after the timeout.
    Stopped,  ///< Ended by run_command() because go_on returned false.
    Unknown,  ///< Another part of the program has collected the status.
  };
  How how = How::Unknown;
  int status = 0;
};

/// Runs a command in a group of processes of its own, which ends as a whole: TERM, a moment later
/// KILL. The input is a file without a name, so that the command goes on reading when this process
/// is killed; the output goes to /dev/null. The command inherits no other files, and its signals
/// are at their defaults. Throws std::system_error when the command cannot begin.
CommandEnd run_command(const Command& command, std::chrono::milliseconds timeout,
                       const GoOn& go_on);

}  // namespace cupel::rules_detail
