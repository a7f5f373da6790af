#pragma once

#include <vector>

#include "command_context.h"

namespace cupel::command_detail {

/// Runs the command line of a process: prepares its streams, signals and log messages, then calls
/// run_command_line() for `program` with `definitions` among its rules. The name of the program is
/// the last part of argv[0]. Returns the exit code and throws nothing.
int command_main(int argc, char** argv, Program program,
                 std::vector<RuleDefinition> definitions = {});

}  // namespace cupel::command_detail
