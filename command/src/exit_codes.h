#pragma once

namespace cupel::command_detail {

// The exit codes of a command; a later one wins over an earlier one. docs/cli.md has the whole
// table.
inline constexpr int kExitFine = 0;
/// The condition of a rule was met or cannot be met, or runs differ.
inline constexpr int kExitFound = 1;
/// An error; or something that was asked for by name is missing.
inline constexpr int kExitError = 2;
/// SIGINT or SIGTERM ended the command.
inline constexpr int kExitInterrupted = 130;

}  // namespace cupel::command_detail
