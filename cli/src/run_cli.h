#pragma once

#include <string>
#include <vector>

#include "cupel/core/printer.h"

namespace cupel {

// What a command ends with; a later one wins over an earlier one. docs/cli.md has the whole table.
inline constexpr int kExitFine = 0;
inline constexpr int kExitFound = 1;  // a rule's condition was met or cannot be, or runs differ
inline constexpr int kExitError = 2;  // also: what was asked for by name is not there
inline constexpr int kExitInterrupted = 130;  // by SIGINT or SIGTERM

/// Runs one command of `cupel`: results go to `out`, everything else to `err`. Returns the exit
/// code; never throws for anything that a user can cause.
int run_cli(const std::vector<std::string>& arguments, Printer out, Printer err);

}  // namespace cupel
